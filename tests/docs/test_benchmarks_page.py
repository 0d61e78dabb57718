"""docs/benchmarks.md and README.md show exactly the numbers of docs/results."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmarks_page", ROOT / "scripts" / "benchmarks_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGE = script()


@pytest.mark.parametrize("page", PAGE.PAGES, ids=lambda page: page.name)
def test_the_tables_show_the_results(page):
    text = page.read_text(encoding="utf-8")
    shown = PAGE.all_tables()
    assert PAGE.TABLE.search(text), "the page has no table of results"
    assert PAGE.renewed(text, shown) == text, "a table is out of date; `make tables` rewrites the tables"


def test_a_table_is_replaced_and_the_rest_left_alone():
    page = "before\n<!-- table: one two -->\n| old |\n<!-- end of table -->\nafter\n"
    assert PAGE.renewed(page, {"one two": "| new |\n"}) == page.replace("old", "new")


def test_an_unknown_table_is_an_error():
    with pytest.raises(KeyError, match="mistyped"):
        PAGE.renewed("<!-- table: mistyped -->\n<!-- end of table -->\n", {"right": ""})
