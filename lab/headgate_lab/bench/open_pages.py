"""Pages that stay open in a browser without a window: `python -m headgate_lab.bench.open_pages URL N`.

Prints `listening` once all are there, and the text lengths of the pages once its standard input is closed.
"""

from __future__ import annotations

import os
import shutil
import sys

from playwright.sync_api import sync_playwright

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """The browser of this machine; None: there is none."""
    return next((found for name in CHROMIUM if (found := shutil.which(name))), None)


def show(url: str, pages: int) -> list[int]:
    """Open so many pages, and keep them open until standard input is closed."""
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        opened = [browser.new_page() for _ in range(pages)]
        for page in opened:
            page.goto(url)
            page.wait_for_timeout(1_000)
        print("listening", flush=True)
        sys.stdin.read()
        lengths = [len(page.inner_text("body")) for page in opened]
        browser.close()
    return lengths


if __name__ == "__main__":
    print(show(sys.argv[1], int(sys.argv[2])), flush=True)
