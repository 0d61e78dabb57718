"""scripts/chromium.sh on fake browsers; it never sees those of this machine."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "chromium.sh"


def program(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A PATH with nothing but a user who is not root."""
    folder = tmp_path / "bin"
    program(folder / "id", "echo 1000")
    (folder / "sh").symlink_to("/bin/sh")
    return folder


def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(folder), **variables}
    command = ["/bin/sh", str(SCRIPT), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_browsers_are_found_by_their_names(bin_folder: Path, name: str) -> None:
    browser = program(bin_folder / name, "echo Chromium 130")
    found = run(bin_folder)
    assert (found.returncode, found.stdout.strip()) == (0, str(browser))


def test_a_name_that_does_not_run_is_passed_over(bin_folder: Path) -> None:
    program(bin_folder / "chromium", "echo 'please install the snap' >&2; exit 1")
    browser = program(bin_folder / "google-chrome", "echo Google Chrome 130")
    assert run(bin_folder).stdout.strip() == str(browser)


def test_a_variable_names_another(bin_folder: Path, tmp_path: Path) -> None:
    program(bin_folder / "chromium", "echo Chromium 130")
    mine = program(tmp_path / "mine", "echo Chromium 131")
    assert run(bin_folder, HEADGATE_CHROMIUM=str(mine)).stdout.strip() == str(mine)
    assert run(bin_folder, HEADGATE_CHROMIUM=str(tmp_path / "gone")).returncode == 1


def test_without_one_a_line_says_what_to_install(bin_folder: Path) -> None:
    found = run(bin_folder)
    assert (found.returncode, found.stdout) == (1, "")
    assert "apt-get install chromium" in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_root_installs_it(bin_folder: Path, tmp_path: Path) -> None:
    program(bin_folder / "id", "echo 0")
    ready = f"printf '#!/bin/sh\\necho Chromium 130\\n' > {bin_folder}/chromium; /bin/chmod +x {bin_folder}/chromium"
    program(bin_folder / "apt-get", f'echo "$@" >> {tmp_path}/asked; [ "$1" = update ] || {{ {ready}; }}')
    assert run(bin_folder, "--find").returncode == 1
    found = run(bin_folder)
    assert found.stdout.strip() == str(bin_folder / "chromium"), found.stderr
    assert "install -y -qq --no-install-recommends chromium" in (tmp_path / "asked").read_text()
