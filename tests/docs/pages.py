"""The pages that the tests execute, and how their blocks are read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from headgate.cli.main import app as cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
README = PAGES[0]
TUTORIAL = ROOT / "docs" / "tutorial.md"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def commands(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Every command of a page's console blocks, with the output that is shown for it."""
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.rstrip("\n").split("\n")
            yield command, shown


def matches(shown: list[str], actual: str) -> bool:
    """Does the output look as shown? Spaces at the end of a line do not count."""
    pattern = ""
    for line in shown:
        if line == "...":
            pattern += r"(?:.*\n)*"
        else:
            pattern += r".*".join(map(re.escape, line.rstrip().split("..."))) + r"\n"
    lines = [line.rstrip() + "\n" for line in actual.splitlines()]
    return re.fullmatch(pattern, "".join(lines)) is not None


def run_headgate(command: str, exit_code: int = 0) -> Any:
    result = CliRunner().invoke(cli, shlex.split(command)[1:])
    assert result.exit_code == exit_code, f"{command}: {result.output}"
    return result


def assert_printed(code: str, printed: str) -> None:
    """Check that every text after `print(...)  # ` in the code is among the printed lines."""
    for expected in re.findall(r"^ *print\(.*\)  # (.*)$", code, re.MULTILINE):
        assert expected in printed.splitlines()
