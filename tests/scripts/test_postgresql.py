"""scripts/postgresql.sh on fake programs; it never sees those of this machine."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "postgresql.sh"


def program(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def server(folder: Path, body: str = "exit 0") -> Path:
    for name in ("initdb", "postgres"):
        program(folder / name, body)
    return folder


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A PATH with nothing but a user who is not root."""
    folder = tmp_path / "bin"
    program(folder / "id", "echo 1000")
    (folder / "sh").symlink_to("/bin/sh")
    (folder / "readlink").symlink_to("/bin/readlink")
    return folder


def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(folder), "HEADGATE_POSTGRESQL_DIR": str(folder.parent / "lib"), **variables}
    command = ["/bin/sh", str(SCRIPT), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_highest_version_that_runs_is_found(bin_folder: Path, tmp_path: Path) -> None:
    server(tmp_path / "lib" / "9.6" / "bin")
    wanted = server(tmp_path / "lib" / "15" / "bin")
    server(tmp_path / "lib" / "17" / "bin", "exit 1")
    found = run(bin_folder)
    assert (found.returncode, found.stdout.strip()) == (0, str(wanted))


def test_the_path_comes_first(bin_folder: Path, tmp_path: Path) -> None:
    server(tmp_path / "lib" / "15" / "bin")
    server(bin_folder)
    assert run(bin_folder).stdout.strip() == str(bin_folder)


def test_a_variable_names_another(bin_folder: Path, tmp_path: Path) -> None:
    server(bin_folder)
    mine = server(tmp_path / "mine")
    assert run(bin_folder, HEADGATE_POSTGRESQL=str(mine)).stdout.strip() == str(mine)
    assert run(bin_folder, HEADGATE_POSTGRESQL=str(tmp_path / "gone")).returncode == 1


def test_without_one_a_line_says_what_to_install(bin_folder: Path) -> None:
    found = run(bin_folder)
    assert (found.returncode, found.stdout) == (1, "")
    assert "apt-get install postgresql" in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_root_installs_it(bin_folder: Path, tmp_path: Path) -> None:
    program(bin_folder / "id", "echo 0")
    ready = "; ".join(
        f"printf '#!/bin/sh\\n' > {bin_folder}/{name}; /bin/chmod +x {bin_folder}/{name}"
        for name in ("initdb", "postgres")
    )
    program(bin_folder / "apt-get", f'echo "$@" >> {tmp_path}/asked; [ "$1" = update ] || {{ {ready}; }}')
    assert run(bin_folder, "--find").returncode == 1
    found = run(bin_folder)
    assert found.stdout.strip() == str(bin_folder), found.stderr
    assert "postgresql" in (tmp_path / "asked").read_text().splitlines()[-1]
