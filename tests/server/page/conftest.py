"""A server in a process of its own, with tokens, and a browser without a window that looks at it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[3]
START_S = 300.0  # Spark starts slowly where much else runs
WAIT_MS = 60_000
_LISTENING = re.compile(r"listening on (http://\S+?);")


@dataclass(frozen=True)
class PageServer:
    """A server, and a token for each role."""

    url: str
    writer: str
    reader: str
    admin: str
    api: httpx.Client  # as the writer


@dataclass
class Looks:
    """Browser windows, and what went wrong in them."""

    browser: Browser
    server: PageServer
    wrong: list[str] = field(default_factory=list)
    windows: list[BrowserContext] = field(default_factory=list)

    def window(self, token: str, *, width: int = 1280, dark: bool = False) -> Page:
        """A window of somebody who has signed in."""
        context = self.browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        context.set_default_timeout(WAIT_MS)
        self.windows.append(context)
        page = context.new_page()
        page.on("console", lambda said: said.type in ("error", "warning") and self.wrong.append(said.text))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("request", lambda request: self._check(request.url))
        page.goto(f"{self.server.url}/sign-in")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Overview").wait_for()
        return page

    def _check(self, url: str) -> None:
        own = (self.server.url, self.server.url.replace("http", "ws"), "data:", "blob:")
        if not url.startswith(own):
            self.wrong.append(f"a request to another host: {url}")


@pytest.fixture(scope="module")
def page_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    folder = tmp_path_factory.mktemp("page")
    tokens = [_token(folder, role) for role in ("write", "read", "admin")]
    log = folder / "server.log"
    serve = ["serve", "--port", "0", "--tokens", "--slots", "1", "--data", str(folder)]
    with log.open("w") as out:
        process = subprocess.Popen([sys.executable, "-m", "headgate", *serve], stdout=out, stderr=out)
    try:
        url = _address(process, log)
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {tokens[0]}"}, timeout=120.0) as api:
            yield PageServer(url, *tokens, api)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Ends with its module: while it is open, no other test of the process can start an event loop."""
    found = subprocess.run([ROOT / "scripts" / "chromium.sh", "--find"], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip(found.stderr.strip())
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        yield playwright.chromium.launch(executable_path=found.stdout.strip(), args=arguments)


@pytest.fixture
def looks(browser: Browser, page_server: PageServer) -> Iterator[Looks]:
    """Windows for one test; no error may have been in their consoles, and no request have gone elsewhere."""
    opened = Looks(browser, page_server)
    yield opened
    for context in opened.windows:
        context.close()
    assert opened.wrong == []


def _token(folder: Path, role: str) -> str:
    command = [sys.executable, "-m", "headgate", "token", "add", f"the-{role}r", "--role", role, "--data", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    until = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < until:
        if found := _LISTENING.search(log.read_text()):
            return found[1]
        time.sleep(0.2)
    raise AssertionError(f"the server did not start:\n{log.read_text()[-2000:]}")
