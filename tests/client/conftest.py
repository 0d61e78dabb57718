"""A client of the shared server; what a test registers is removed after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import headgate as hg
from headgate.client.submit import KEYS
from headgate.errors import ApplicationError


@pytest.fixture
def client(server: Any) -> Iterator[hg.Client]:
    with hg.Client(server.url) as client:
        before = {key: set(client.sections(key)) for key in KEYS}
        policy = client.policy
        yield client
        remove_all_but(client, before)
        client.set_policy(policy["name"], **policy["parameters"])


def remove_all_but(client: hg.Client, kept: dict[Any, set[str]]) -> None:
    """Queries may read each other, so those that nobody reads go first."""
    for key in reversed(KEYS):
        left = [name for name in client.sections(key) if name not in kept[key]]
        while left:
            still = []
            for name in left:
                try:
                    client.remove(key, name)
                except ApplicationError:
                    still.append(name)
            assert len(still) < len(left), f"{still} cannot be removed"
            left = still
