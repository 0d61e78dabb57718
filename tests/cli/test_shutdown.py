"""Every way to end a command, at every stage of its start.

No process and no folder is left behind, one line is printed, and the exit code is right. The commands are real, most
with a JVM of their own. Those without a JVM always run; of those with one, one runs in `make test`, three more run
nightly, and the rest with `-m soak`.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

APP = """
streams:
  s: {schema: "k INT", source: {kind: feeder, rate: 50, values: {k: "uniform 0 9"}}}
queries:
  q: {cql: "SELECT k FROM s", sink: {kind: csv, path: out.csv}}
  sums: {cql: "SELECT k, count(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k", sink: {kind: none}}
"""
PATIENCE_S = 300
CODES = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated"), signal.SIGHUP: (129, "hung up")}


class Command:
    """A running `headgate run` with a folder of its own for temporary files, by which its processes are recognized."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.scratch = folder / 'a "folder'
        self.scratch.mkdir()
        self.output = folder / "out.csv"
        (folder / "app.yaml").write_text(APP)
        command = [sys.executable, "-m", "headgate", "run", str(folder / "app.yaml"), *options]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=os.environ | {"TMPDIR": str(self.scratch)},
            preexec_fn=_default_signals,
        )

    def wait_until(self, stage: Callable[["Command"], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not stage(self):
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def finished(self) -> tuple[int, str, str]:
        """Its exit code, stdout and stderr, without the progress lines that it prints on a slow machine."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        kept = [line for line in err.splitlines(keepends=True) if not line.endswith(" ...\n")]
        return self.process.returncode, out, "".join(kept)

    def family(self) -> list[psutil.Process]:
        """All processes that were started with its folder for temporary files, whoever their parent is now."""
        return [p for p in psutil.process_iter() if _environment(p).get("TMPDIR") == str(self.scratch)]

    def jvm(self) -> psutil.Process:
        return next(p for p in self.family() if "org.apache.spark.deploy.SparkSubmit" in p.cmdline())

    def left_behind(self) -> list[str]:
        return [*(p.name() for p in self.family()), *(path.name for path in self.scratch.iterdir())]


def _default_signals() -> None:
    """Undo what a shell does: what it starts in the background ignores Ctrl-C, and so, rightly, would the command."""
    for number in CODES:
        signal.signal(number, signal.SIG_DFL)


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except psutil.Error:
        return {}


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    started = Command(tmp_path, "--seconds", "600", "--json")
    yield started
    for process in started.family():
        process.kill()


def _has(pattern: str) -> Callable[[Command], bool]:
    return lambda command: any(command.scratch.glob(pattern))


def _gives_results(command: Command) -> bool:
    return command.output.exists() and len(command.output.read_bytes()) > 10


# How each stage of the start can be recognized from outside.
STAGES = {
    "imports": lambda command: any(
        "pydantic_core" in m.path for m in psutil.Process(command.process.pid).memory_maps()
    ),
    "launcher": _has("headgate-spark-*"),
    "gateway": _has("headgate-spark-*/gateway"),
    "session": _has("headgate-spark-*/blockmgr-*"),
    "checking": _has("headgate-spark-*/artifacts-*"),
    "rehearsal": _has("headgate-spill-*"),
}
ALWAYS = {("session", signal.SIGTERM)}
NIGHTLY = {("launcher", signal.SIGINT)}


def tier(stage: str, number: signal.Signals) -> Any:
    if (stage, number) in ALWAYS:
        return ()
    return pytest.mark.nightly if (stage, number) in NIGHTLY else pytest.mark.soak


@pytest.mark.spark
@pytest.mark.parametrize(
    ("stage", "number"),
    [pytest.param(stage, number, marks=tier(stage, number)) for stage in STAGES for number in CODES],
)
def test_a_signal_during_the_start(command: Command, stage: str, number: signal.Signals) -> None:
    command.wait_until(STAGES[stage])
    command.process.send_signal(number)
    code, out, err = command.finished()
    assert (code, out, err) == (CODES[number][0], "", CODES[number][1] + "\n")
    assert command.left_behind() == []


@pytest.mark.spark
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGHUP, marks=pytest.mark.nightly),
        *[pytest.param(n, marks=pytest.mark.soak) for n in (signal.SIGINT, signal.SIGTERM)],
    ],
)
def test_a_signal_during_the_run_ends_it_with_the_report(command: Command, number: signal.Signals) -> None:
    command.wait_until(_gives_results)
    command.process.send_signal(number)
    code, out, err = command.finished()
    assert (code, err) == (0, "")
    written = command.output.read_text().splitlines()[1:]
    assert json.loads(out)["queries"]["q"]["outputs"] == len(written) > 0
    assert command.left_behind() == []


@pytest.mark.spark
@pytest.mark.parametrize(
    "stage",
    [
        pytest.param("running", marks=pytest.mark.nightly),
        *[pytest.param(stage, marks=pytest.mark.soak) for stage in list(STAGES)[2:]],
    ],
)
def test_a_jvm_that_dies(command: Command, stage: str) -> None:
    command.wait_until(STAGES.get(stage, _gives_results))
    command.jvm().kill()
    code, out, err = command.finished()
    assert (code, out, err) == (1, "", "error: Spark's JVM was killed (SIGKILL)\n")
    assert command.left_behind() == []


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.parametrize("stage", ["gateway", "rehearsal"])
def test_a_killed_command_takes_its_jvm_with_it(command: Command, stage: str) -> None:
    # The spill folder is made, then Spark is told to delete it when its JVM ends, then the sinks are opened.
    command.wait_until(STAGES[stage] if stage == "gateway" else lambda command: command.output.exists())
    command.process.kill()
    command.process.communicate()
    deadline = time.monotonic() + PATIENCE_S
    while command.family() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert command.family() == []
    if stage == "rehearsal":  # Spark is up, and has been told to delete the folder
        assert command.left_behind() == []


@pytest.mark.spark
@pytest.mark.soak
def test_a_second_signal_ends_it_at_once(command: Command) -> None:
    command.wait_until(_gives_results)
    command.process.send_signal(signal.SIGTERM)
    command.process.send_signal(signal.SIGINT)
    code, _, err = command.finished()
    # The first signal may have ended it before the second arrived.
    assert (code, err) in [(0, ""), (130, "interrupted\n"), (143, "terminated\n")]
    assert command.left_behind() == []


@pytest.mark.spark
@pytest.mark.soak
def test_a_demo_ends_when_nobody_reads_its_output() -> None:
    result = _shell(f"set -o pipefail; {sys.executable} -m headgate demo | head -1")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.count("\n") == 1


def _shell(line: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=PATIENCE_S)


def test_no_room_for_temporary_files(tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(APP)
    command = [sys.executable, "-m", "headgate", "run", str(tmp_path / "app.yaml")]
    # TMPDIR is not enough: Python would look for a folder where it may write, and root may write anywhere.
    tempdir = "import tempfile; tempfile.tempdir = '/proc/none'; from headgate.__main__ import main; main()"
    result = subprocess.run([sys.executable, "-c", tempdir, *command[3:]], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (2, "")
    assert "set TMPDIR to a writable folder" in result.stderr
    assert result.stderr.count("\n") == 1


def test_standard_output_that_cannot_be_written() -> None:
    result = _shell(f"{sys.executable} -m headgate policies > /dev/full")
    assert (result.returncode, result.stderr) == (
        1,
        "error: cannot write to standard output: No space left on device\n",
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_closed_standard_files(closed: str) -> None:
    result = _shell(f"{sys.executable} -m headgate policies {closed}")
    assert (result.returncode, result.stderr) == (0, "")
