"""Checks that the author of a policy, a source or a sink can run on their own class, in a test or anywhere else.

    from headgate.testing import check_policy

    def test_my_policy():
        check_policy(MyPolicy)

A check returns nothing, or raises AssertionError with one sentence on what the class does wrong. No check needs Spark.
"""

from headgate.testing.policies import check_policy
from headgate.testing.sinks import check_sink
from headgate.testing.sources import check_source

__all__ = ["check_policy", "check_sink", "check_source"]
