"""Built wheels in a fresh environment: `import headgate` works, and another package's classes are found and pass.

The fresh environment has the two wheels installed by pip; their dependencies are those of the environment that runs the
tests, found by path, so that nothing is downloaded.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly
ROOT = Path(__file__).parents[2]
SAMPLE = Path(__file__).with_name("sample")
CHECKS = """
import headgate as hg
from headgate.policies.registry import POLICIES
from headgate.testing import check_policy, check_sink, check_source
from headgate.connect.sources import SOURCES
from headgate.connect.sinks import SINKS
import headgate_sample, sys
assert hg.__file__.startswith(sys.prefix), hg.__file__
assert headgate_sample.__file__.startswith(sys.prefix), headgate_sample.__file__
check_policy(POLICIES["sample-last"])
check_source(SOURCES["sample-squares"](rows=7), "n INT", rows=7)
check_sink(SINKS["sample-log"](path="log.txt"))
report = hg.load("app.yaml").simulate()
print(report.policy, report.queries["q"].inputs)
"""
APP = """
streams:
  s: {schema: "n INT", source: {kind: sample-squares, rows: 7}}
queries:
  q: {cql: "SELECT n FROM s", sink: {kind: sample-log, path: out.txt}}
policy: sample-last
"""


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


def wheel(source: Path, folder: Path) -> Path:
    """Build a wheel from a copy, so that nothing is left in the source."""
    copy = folder / f"source-{source.name}"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        if (source / name).exists():
            shutil.copy(source / name, copy)
    for name in ("headgate", "headgate_sample"):
        if (source / name).is_dir():
            shutil.copytree(source / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    pip = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, copy)
    before = set(folder.glob("*.whl"))
    run(*pip, cwd=folder)
    (built,) = set(folder.glob("*.whl")) - before
    return built


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of the fresh environment."""
    folder = tmp_path_factory.mktemp("fresh")
    wheels = [wheel(ROOT, folder), wheel(SAMPLE, folder)]
    run(sys.executable, "-m", "venv", folder / "env", cwd=folder)
    python = folder / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", *wheels, cwd=folder)
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def test_it_is_found_and_passes_the_checks(python: Path, tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(APP)
    done = run(python, "-c", CHECKS, cwd=tmp_path)
    assert done.stdout == "sample-last 7\n"
    warnings = [line for line in done.stderr.splitlines() if "sample-broken" in line]
    assert len(warnings) == 1, done.stderr
    assert "package headgate-sample is left out: the sample is broken on purpose" in warnings[0]


def test_commands_know_it(python: Path, tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(APP)
    headgate = python.with_name("headgate")
    listed = json.loads(run(headgate, "policies", "--json", cwd=tmp_path).stdout)
    assert "sample-last" in json.dumps(listed)
    report = json.loads(run(headgate, "simulate", "app.yaml", "--json", cwd=tmp_path).stdout)
    assert report["policy"] == "sample-last"
    other = json.loads(run(headgate, "simulate", "app.yaml", "--policy", "fifo", "--json", cwd=tmp_path).stdout)
    assert other["queries"]["q"]["outputs"] == report["queries"]["q"]["outputs"] == 7
