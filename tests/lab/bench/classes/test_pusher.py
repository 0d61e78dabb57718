"""The lines for stock's sources: what they contain, and when they are sent."""

import socket
import time
from itertools import pairwise

import numpy as np
import pytest

from headgate.runtime.spark.source_thread import TICK_S
from headgate_lab.bench.classes.pusher import (
    BASE_S,
    RECORD,
    REHEARSAL_LINES,
    REHEARSALS,
    REHEARSED,
    WIDTHS,
    Pusher,
    make_lines,
)
from headgate_lab.bench.classes.workload import Tuples


def stream(arrivals, k=None, v=None):
    count = len(arrivals)
    return Tuples(
        np.array(arrivals, dtype=float),
        np.arange(count, dtype=np.int32) if k is None else np.array(k, dtype=np.int32),
        np.full(count, 0.25) if v is None else np.array(v, dtype=float),
    )


def read(line):
    """The records of a line as (event time in s, k, v)."""
    cuts = np.cumsum((0, *WIDTHS))
    for record in line.split(";"):
        time_us, k, v = (int(record[a:b]) for a, b in pairwise(cuts))
        yield time_us / 1e6, k, v / 1e6


def run_lines(lines):
    rows = lines.data.decode().splitlines()
    return rows[REHEARSALS * lines.rehearsal :]


def test_a_line_has_the_tuples_of_a_tick():
    lines = make_lines(stream([0.001, 0.0045, 0.0051, 0.5], k=[7, 8, 9, 10], v=[0.0, 0.5, 0.25, 1.0]))
    rows = [list(read(line)) for line in run_lines(lines)]
    assert rows == [
        [(BASE_S + 0.001, 7, 0.0), (BASE_S + 0.0045, 8, 0.5)],
        [(BASE_S + 0.0051, 9, 0.25)],
        [(BASE_S + 0.5, 10, 1.0)],
    ]
    assert lines.due[-3:].tolist() == pytest.approx([TICK_S, 2 * TICK_S, 0.505])
    assert len(lines.data) == lines.ends[-1] * RECORD


def test_values_above_a_half_stay_above():
    (line,) = run_lines(make_lines(stream([0.001, 0.002], v=[0.5, 0.5 + 1e-9])))
    assert [v > 0.5 for _, _, v in read(line)] == [False, True]


def test_tuples_before_a_line_exclude_rehearsals():
    lines = make_lines(stream([0.001, 0.0045, 0.0051, 0.5]))
    first = REHEARSALS * lines.rehearsal
    assert [lines.tuples_before(line) for line in (0, 1, first, first + 1, first + 2, first + 3)] == [0, 0, 0, 2, 3, 4]


def test_rehearsals_are_earlier_in_event_time_and_end_with_lines():
    count = 3 * REHEARSED
    lines = make_lines(stream(np.arange(count) / 1000))
    assert lines.rehearsal == REHEARSAL_LINES
    assert lines.bytes_of_rehearsals(1) == REHEARSED * RECORD
    rehearsed = lines.data[: lines.bytes_of_rehearsals(REHEARSALS)].decode()
    times = [time for line in rehearsed.splitlines() for time, _, _ in read(line)]
    assert len(times) == REHEARSALS * REHEARSED
    assert times == sorted(times)
    assert times[-1] < BASE_S - 1
    assert rehearsed.endswith("\n")


def test_bytes_are_due_when_their_tick_is_over():
    lines = make_lines(stream([0.001, 0.0045, 0.0051, 0.5]))
    before = lines.bytes_of_rehearsals(REHEARSALS)
    due = [(lines.bytes_by(at) - before) // RECORD for at in (-1.0, 0.0049, 0.0051, 0.011, 1.0)]
    assert due == [0, 0, 2, 3, 4]


def test_values_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="digits"):
        make_lines(stream([0.1], k=[10**8]))


def test_a_reader_that_does_not_read_does_not_block_others():
    """Over real sockets: first the rehearsal, then the lines due, while the buffers of another stream are full."""
    slow = make_lines(stream(np.linspace(0.0, 0.01, 400_000)))  # 10 MB at once
    quick = make_lines(stream(np.linspace(0.0, 0.4, 100)))
    pusher = Pusher({"slow": slow, "quick": quick}.items())
    try:
        taken = {name: socket.create_connection(("127.0.0.1", port)) for name, port in pusher.ports.items()}
        pusher.rehearse(1)
        rehearsal = receive(taken["quick"], quick.bytes_of_rehearsals(1))
        pusher.start(time.time() + 0.1)
        rest = receive(taken["quick"], len(quick.data) - len(rehearsal))
        assert rehearsal + rest == quick.data
        behind = pusher.stop()
        assert behind["late_bytes"] > 0
    finally:
        pusher.close()


def receive(connection, count):
    connection.settimeout(10.0)
    got = b""
    while len(got) < count:
        got += connection.recv(count - len(got))
    return got
