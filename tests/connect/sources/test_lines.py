"""Lines from sockets and from the standard input."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.connect.sources import Source, Stdin, Tcp
from headgate.connect.sources.base import position_of
from headgate.errors import ApplicationError
from tests.connect.sources.positions import opened, stream

WAIT_S = 20.0


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(WAIT_S)
        yield listening


def tcp(server: socket.socket, **more: Any) -> Any:
    return stream(**Tcp(host="127.0.0.1", port=server.getsockname()[1], **more).settings())


def until(source: Source, rows: int = 0, done: Callable[[], bool] | None = None) -> list[tuple[Any, ...]]:
    """Poll until so many rows have come, or until it is done."""
    found: list[tuple[Any, ...]] = []
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        table = source.poll(time.monotonic())
        found += [] if table is None else [(row["k"], row["t"], row["_sequence"]) for row in table.to_pylist()]
        if done() if done else len(found) >= rows:
            return found
        time.sleep(0.002)
    raise AssertionError(f"only {found} came")


def accepted(server: socket.socket, source: Source) -> socket.socket:
    source.poll(time.monotonic() + 100.0)  # connects
    return server.accept()[0]


def test_lines_of_json_in_any_pieces(server: socket.socket, tmp_path: Path) -> None:
    source = opened(tcp(server), tmp_path)
    with accepted(server, source) as connection:
        connection.sendall(b'{"k": 1, "t": "a"}\n{"k": 2')
        assert until(source, 1) == [(1, "a", 0)]
        connection.sendall(b', "t": "b"}\n')
        assert until(source, 1) == [(2, "b", 1)]
        assert not source.exhausted
        source.close()
        assert source.exhausted


def test_a_csv_header_for_each_connection(server: socket.socket, tmp_path: Path) -> None:
    source = opened(tcp(server, format="csv"), tmp_path)
    with accepted(server, source) as connection:
        connection.sendall(b"t,k\na,1\n")
        assert until(source, 1) == [(1, "a", 0)]
    source.poll(time.monotonic())
    with accepted(server, source) as connection:
        connection.sendall(b"k,t\n2,b\n")
        assert until(source, 1) == [(2, "b", 1)]
        source.close()


def test_a_line_that_a_broken_connection_cut_is_put_aside(server: socket.socket, tmp_path: Path) -> None:
    letters: list[Any] = []
    source = opened(tcp(server, reconnect=False), tmp_path, on_reject=lambda *reject: letters.append(reject))
    with accepted(server, source) as connection:
        connection.sendall(b'{"k": 1, "t": "a"}\nno json\n{"k": 12')
    assert until(source, done=lambda: source.exhausted) == [(1, "a", 0)]
    assert [(line, row) for line, row, _, _ in letters] == [(2, "no json"), (3, '{"k": 12')]
    assert "ended within it" in letters[1][2]
    assert source.rejected == 2


def test_it_connects_when_the_server_comes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "headgate.source")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = taken.getsockname()
    source = opened(stream(**Tcp(host=address[0], port=address[1]).settings()), tmp_path)
    until(source, done=lambda: caplog.text.count("cannot connect") == 2)
    pauses = [record.args[1] for record in caplog.records if "cannot connect" in record.getMessage()]  # type: ignore[index]
    assert pauses == [0.1, 0.2]  # longer and longer
    with socket.create_server(address) as server:
        server.settimeout(WAIT_S)
        until(source, done=lambda: "connected" in caplog.text)
        with server.accept()[0] as connection:
            connection.sendall(b'{"k": 1, "t": "a"}\n')
            assert until(source, 1) == [(1, "a", 0)]
    source.close()


def test_what_is_not_polled_waits_at_the_sender(server: socket.socket, tmp_path: Path) -> None:
    source = opened(tcp(server), tmp_path)
    with accepted(server, source) as connection:
        connection.settimeout(0.5)
        line, sent = b'{"k": 1, "t": "' + b"x" * 1000 + b'"}\n', 0
        with contextlib.suppress(TimeoutError):
            while sent < 100_000:
                connection.sendall(line)
                sent += 1
        assert sent < 100_000
        assert source.replayable  # so the runtime leaves it unread while memory is short
        assert len(until(source, sent)) >= sent
        source.close()


def test_there_is_no_going_back(server: socket.socket, tmp_path: Path) -> None:
    assert position_of(opened(tcp(server), tmp_path)) is None


def standard_input(monkeypatch: pytest.MonkeyPatch) -> int:
    """The end of a pipe that one can write into."""
    ours, theirs = os.pipe()
    monkeypatch.setattr(sys, "stdin", os.fdopen(ours))
    return theirs


def test_the_standard_input_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end = standard_input(monkeypatch)
    source = opened(stream(**Stdin(format="csv", header=False).settings()), tmp_path)
    assert source.poll(0.0) is None
    os.write(end, b"1,a\n2,")
    assert until(source, 1) == [(1, "a", 0)]
    os.write(end, b"b")
    os.close(end)
    assert until(source, done=lambda: source.exhausted) == [(2, "b", 1)]
    assert source.exhausted


def test_a_file_as_standard_input(tmp_path: Path) -> None:
    lines = tmp_path / "in.json"
    lines.write_text("".join(f'{{"k": {at}, "t": "x"}}\n' for at in range(5000)))
    code = (
        "from tests.connect.sources.positions import opened, stream, read; from pathlib import Path\n"
        "source = opened(stream(kind='stdin'), Path())\n"
        "print(len(read(source)), source.exhausted)"
    )
    with lines.open() as file:
        done = subprocess.run([sys.executable, "-c", code], stdin=file, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["5000", "True"]


def test_a_sample_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from headgate.connect.sources import SourceContext

    os.write(end := standard_input(monkeypatch), b'{"k": 1, "t": "a"}\n')
    of = stream(**Stdin().settings())
    sample = Stdin().open(SourceContext(of, sample=True))
    assert sample.exhausted
    sample.close()
    assert until(opened(of, tmp_path), 1) == [(1, "a", 0)]
    os.close(end)


@pytest.mark.parametrize("settings", [{"host": "", "port": 1}, {"host": "a", "port": 0}, {"host": "a"}])
def test_settings_are_checked(settings: Any) -> None:
    with pytest.raises(ApplicationError):
        Tcp(**settings)
