"""`headgate bench state`: what it measures. That it runs: test_every_bench.py."""

from __future__ import annotations

from headgate_lab.bench import relation_updates, state


def test_every_kind_of_query_is_measured() -> None:
    assert state.FULL.kinds == tuple(relation_updates.QUERIES)
    assert set(state.QUICK.kinds) <= set(relation_updates.QUERIES)
    assert state.FULL.updates == state.QUICK.updates == (3_000, 12_000)
