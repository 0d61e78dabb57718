"""Whatever is sent to the API, the server does not fail: Schemathesis makes requests up from its description."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

pytestmark = pytest.mark.spark

CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)
LEFT_OUT = "/v1/queries/{name}/results/events"  # lasts for as long as one listens
EXAMPLES = settings(
    max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False, derandomize=True
)


def operations(url: str):
    schema = schemathesis.openapi.from_url(f"{url}/v1/openapi.json").exclude(path=LEFT_OUT)
    return [found.ok() for found in schema.get_all_operations()]


def test_no_server_error(server) -> None:
    tried = 0
    for operation in operations(server.url):

        @EXAMPLES
        @given(operation.as_strategy())
        def check(case) -> None:
            nonlocal tried
            tried += 1
            case.call_and_validate(checks=CHECKS, timeout=60)

        check()
    assert tried > 200
    server.service.overview()  # it still works
