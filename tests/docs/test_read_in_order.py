"""README and tutorial are read from top to bottom: their Python blocks share one namespace, like notebook cells.

A ```text or ```yaml block right after a Python block shows what that block prints, with `...` as in console
blocks; blank lines at the end do not count.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import README, TUTORIAL, assert_printed, blocks, matches

STEP = re.compile(r"^```python\n(.*?)^```\n(?:\n^```(?:text|yaml)\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)


@pytest.mark.spark
@pytest.mark.parametrize("page", [README, TUTORIAL], ids=lambda page: page.name)
def test_every_block_does_what_is_shown(spark: Any, page: Path, copy: Path) -> None:
    steps = STEP.findall(page.read_text(encoding="utf-8"))
    assert [code for code, _ in steps] == blocks(page, "python")
    assert any(shown for _, shown in steps)
    names: dict[str, Any] = {"__name__": "docs"}
    for code, shown in steps:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, page.name, "exec"), names)
        assert_printed(code, out.getvalue())
        if shown:
            assert matches(shown.rstrip().splitlines(), out.getvalue().rstrip()), f"{code} printed\n{out.getvalue()}"
