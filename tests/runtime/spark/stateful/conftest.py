"""A session that estimates sizes as small, so that joins of joins in one partition need no exchange."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="package")
def session(spark: Any) -> Any:
    from headgate.runtime.spark.launch.session import own_session

    session = own_session(spark)
    session.conf.set("spark.sql.defaultSizeInBytes", "1")
    return session
