"""Whatever is sent to the API, the server does not fail: Schemathesis makes requests up from its description."""

from collections import Counter
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.serving import serving

pytestmark = pytest.mark.spark

CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)
LEFT_OUT = "/v1/queries/{name}/results/events"  # lasts for as long as one listens
EXAMPLES = settings(
    max_examples=16, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False, derandomize=True
)


def operations(url: str):
    schema = schemathesis.openapi.from_url(f"{url}/v1/openapi.json").exclude(path=LEFT_OUT)
    return [found.ok() for found in schema.get_all_operations()]


KNOWN = {"streams": "trades", "tables": "sectors", "classes": "gold", "queries": "large"}
TEXTS = {
    "schema": "symbol STRING, price DOUBLE",
    "cql": "SELECT symbol, price FROM trades WHERE price > 1",
    "source": {"kind": "push"},
    "rows": [],
    "kind": "rows",
}


def register(service) -> None:
    """What requests can meet; some of them remove it."""
    sections = {
        "streams": {"schema": TEXTS["schema"], "source": {"kind": "push"}},
        "tables": {"kind": "rows", "rows": [{"symbol": "a"}], "schema": "symbol STRING"},
        "classes": {"priority": 2},
        "queries": {"cql": TEXTS["cql"], "class": "gold"},
    }
    for key, name in KNOWN.items():
        if name not in service.sections(key):
            service.add(key, name, sections[key])


def make_sensible(case, new_name: str) -> None:
    """Let a request name what there is, and hold texts that can be read; everything else stays as it was made up."""
    if case.path_parameters.get("name"):
        key = case.path.split("/")[2]
        case.path_parameters["name"] = KNOWN.get(key, "nobody")
    if isinstance(case.body, dict):
        case.body |= {key: text for key, text in TEXTS.items() if key in case.body}
        if "name" in case.body:
            case.body["name"] = new_name
        if "class" in case.body:
            case.body["class"] = "gold"


def test_no_server_error(spark, tmp_path: Path) -> None:
    statuses: Counter[int] = Counter()
    with serving(tmp_path, spark) as server:
        for operation in operations(server.url):
            register(server.service)

            @EXAMPLES
            @given(operation.as_strategy(), st.booleans())
            def check(case, sensible: bool) -> None:
                if sensible:
                    make_sensible(case, f"new{statuses.total()}")
                answer = case.call_and_validate(checks=CHECKS, timeout=60)
                statuses[answer.status_code] += 1

            check()
        assert server.service.running
    assert statuses.total() > 200
    for status in (200, 201, 204, 404, 422):  # requests of all kinds were tried
        assert statuses[status], statuses
