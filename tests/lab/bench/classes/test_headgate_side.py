"""Which results of a run under Headgate count."""

import numpy as np
import pytest

from headgate.metrics.recording_monitor import RecordingMonitor
from headgate_lab.bench.classes.workload import Workload, application


def test_results_of_calls_that_end_too_late_do_not_count():
    workload = Workload("w", 3, 10.0, seconds=4.0, warm_s=1.0)
    monitor = RecordingMonitor(application(workload, {"name": "mbd"}).plan, workload.warm_s)
    query, _, other = (one.name for one in workload.members())
    for handed, latency in ((1.1, 0.3), (1.5, 0.2), (4.0, 0.4), (4.1, 0.5)):  # the first belongs to the warm-up
        monitor.results(query, handed, [latency])
    monitor.results(other, 4.2, [0.1])
    assert monitor.by_query("class1", until=4.0)[query] == pytest.approx(np.array([0.2, 0.4]))
    assert monitor.by_query("class3", until=4.0)[other].size == 0
    assert monitor.by_query("class1")[query].size == 3
