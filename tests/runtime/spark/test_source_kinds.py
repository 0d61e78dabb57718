"""Sources of several kinds in one run on Spark."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any

import pytest

import headgate as hg
from tests.connect.sources.test_data_source import Rows

SCHEMA = "k INT, t STRING"
WAIT_S = 60.0


@pytest.mark.spark
def test_files_lines_and_data_sources_in_one_run(spark: Any, tmp_path: Path) -> None:
    log = tmp_path / "grows.csv"
    log.write_text("k,t\n1,a\n2,")
    app = hg.Application(folder=tmp_path, rehearse=False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        app.stream("logs", SCHEMA, source=hg.sources.Folder(path="*.csv", grows=True, interval=0.05))
        app.stream("lines", SCHEMA, source=hg.sources.Tcp(host="127.0.0.1", port=port))
        app.stream("numbers", SCHEMA, source=hg.sources.PythonDataSource(implementation=Rows, options={"rows": 12}))
        for name in ("logs", "lines", "numbers"):
            app.query(f"of_{name}", f"SELECT k, t FROM {name} WHERE k > 0")
        with app.start() as run:
            with server.accept()[0] as connection:
                connection.sendall(b'{"k": 7, "t": "x"}\n')
                with log.open("a") as file:
                    file.write("b\n")
                expected = {
                    "of_logs": [{"k": 1, "t": "a"}, {"k": 2, "t": "b"}],
                    "of_lines": [{"k": 7, "t": "x"}],
                    "of_numbers": [{"k": at, "t": f"x{at}"} for at in range(1, 12)],
                }
                until = time.monotonic() + WAIT_S
                while any(run.results(name).rows < len(rows) for name, rows in expected.items()):
                    assert time.monotonic() < until, {name: run.results(name).rows for name in expected}
                    time.sleep(0.05)
            found = {name: run.results(name).to_arrow().to_pylist() for name in expected}
    assert found == expected
