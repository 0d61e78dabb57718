"""Fixture files: a query and the operators it becomes, as written and as rewritten.

    python -m tests.language.fixture_files      regenerates the plans in all fixtures; review the diff before committing

A fixture is CQL with comments: `-- catalog: NAME` first, then the query, then the two plans.
"""

from pathlib import Path

from headgate.language.catalog import Catalog
from headgate.language.rules import RULES
from tests.language.catalogs import NEXMARK, SENSORS, STREAM_CQL, compiled, plan_lines, plan_of

FOLDER = Path(__file__).parent / "fixtures"
CATALOGS = {"sensors": SENSORS, "nexmark": NEXMARK, "stream_cql": STREAM_CQL}


def read(file: Path) -> tuple[Catalog, str]:
    """The catalog and the query of a fixture."""
    head, *lines = file.read_text(encoding="utf-8").splitlines()
    query = [line for line in lines if not line.startswith("--")]
    return CATALOGS[head.removeprefix("-- catalog: ")], "\n".join(query).strip()


def plans(catalog: Catalog, query: str) -> list[str]:
    """The comment lines below the query: its plans and warnings."""
    lines = ["-- as written"]
    lines += [f"--   {line}" for line in plan_lines(plan_of(query, catalog, ()))]
    lines += ["-- rewritten"]
    lines += [f"--   {line}" for line in plan_lines(plan_of(query, catalog, RULES))]
    warnings = compiled(query, catalog).grows
    lines += ["-- warnings"] if warnings else []
    return lines + [f"--   {line.removeprefix('queries.q.cql: ')}" for line in warnings]


def expected(file: Path) -> str:
    """The full text that a fixture should have."""
    catalog, query = read(file)
    head = file.read_text(encoding="utf-8").splitlines()[0]
    return "\n".join([head, query, *plans(catalog, query), ""])


if __name__ == "__main__":
    for fixture in sorted(FOLDER.glob("*.cql")):
        fixture.write_text(expected(fixture), encoding="utf-8")
