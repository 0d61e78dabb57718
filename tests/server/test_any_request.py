"""Whatever is sent to the API, the server does not fail: Schemathesis makes requests up from its description."""

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

pytestmark = pytest.mark.spark

CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)
# These last for as long as a listener stays, or shut the tests out.
LEFT_OUT = {"/v1/queries/{name}/results/events"}


@pytest.fixture(scope="session")
def api(server):
    return schemathesis.openapi.from_url(f"{server.url}/v1/openapi.json")


schema = schemathesis.pytest.from_fixture("api").exclude(path=list(LEFT_OUT))


@schema.parametrize()
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_no_server_error(case) -> None:
    case.call_and_validate(checks=CHECKS, timeout=60)
