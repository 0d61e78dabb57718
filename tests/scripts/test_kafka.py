"""scripts/kafka.sh on fake programs; it never fetches anything."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "kafka.sh"
MVN = """
for word in "$@"; do
    case $word in -DoutputDirectory=*) jars=${word#*=} ;; esac
done
/bin/mkdir -p "$jars"
echo >"$jars/kafka_2.13-0.jar"
"""


def program(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A PATH with the few programs that it needs, and a user who is not root."""
    folder = tmp_path / "bin"
    program(folder / "id", "echo 1000")
    for name in ("sh", "basename", "ls", "mkdir", "mktemp", "cat", "mv", "rm", "dirname", "sed", "readlink"):
        found = next(path for path in (Path("/bin") / name, Path("/usr/bin") / name) if path.exists())
        (folder / name).symlink_to(found)
    return folder


def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(folder), "HOME": str(folder.parent), **variables}
    command = ["/bin/sh", str(SCRIPT), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_variable_names_the_folder(bin_folder: Path, tmp_path: Path) -> None:
    jars = tmp_path / "mine"
    jars.mkdir()
    (jars / "kafka_2.13-9.jar").touch()
    assert run(bin_folder, HEADGATE_KAFKA=str(jars)).stdout.strip() == str(jars)
    assert run(bin_folder, HEADGATE_KAFKA=str(tmp_path)).returncode == 1


def test_maven_fetches_it_once(bin_folder: Path, tmp_path: Path) -> None:
    assert run(bin_folder, "--find").returncode == 1
    maven = program(bin_folder / "mvn", MVN)
    assert run(bin_folder, "--find").returncode == 1
    found = run(bin_folder)
    assert found.returncode == 0, found.stderr
    assert Path(found.stdout.strip()).parent == tmp_path / ".cache" / "headgate"
    maven.unlink()
    assert run(bin_folder).stdout == found.stdout
    assert run(bin_folder, "--find").stdout == found.stdout
    assert len(list((tmp_path / ".cache" / "headgate").iterdir())) == 1


def test_a_failed_download_leaves_nothing(bin_folder: Path, tmp_path: Path) -> None:
    program(bin_folder / "mvn", "exit 1")
    assert run(bin_folder).returncode == 1
    assert list((tmp_path / ".cache" / "headgate").iterdir()) == []


def test_without_it_a_line_says_what_to_install(bin_folder: Path) -> None:
    found = run(bin_folder)
    assert (found.returncode, found.stdout) == (1, "")
    assert "apt-get install maven" in found.stderr
    assert len(found.stderr.splitlines()) == 1
