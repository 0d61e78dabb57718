"""scripts/java.sh on fake Java installations; it never sees the Java of this machine."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "java.sh"
TOOLS = ("sh", "sed", "readlink", "mkdir", "chmod")  # all that the script and the fake programs may use


def executable(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def java(home: Path, version: str, *, shows_home: bool = True) -> Path:
    """A Java installation in `home` that answers `-version` on standard error, as the real one does."""
    settings = f"echo '    java.home = {home}' >&2\n" if shows_home else ""
    executable(home / "bin" / "java", f"{settings}echo 'openjdk version \"{version}\" 2025-04-15' >&2")
    return home


class Machine:
    """A PATH with only the tools above, no Java in the JVM directory, and a user who is not root."""

    def __init__(self, root: Path) -> None:
        self.bin = root / "bin"
        self.jvm = root / "jvm"
        self.bin.mkdir()
        self.jvm.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found is not None, f"{tool} is needed by this test"
            (self.bin / tool).symlink_to(found)
        self.user(1000)

    def user(self, uid: int) -> None:
        executable(self.bin / "id", f"echo {uid}")

    def on_path(self, home: Path) -> None:
        (self.bin / "java").symlink_to(home / "bin" / "java")

    def run(self, *args: str, java_home: Path | None = None) -> subprocess.CompletedProcess[str]:
        env = {"PATH": str(self.bin), "HEADGATE_JVM_DIR": str(self.jvm)}
        if java_home is not None:
            env["JAVA_HOME"] = str(java_home)
        return subprocess.run(
            [str(self.bin / "sh"), str(SCRIPT), *args],
            env=env,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def found(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout.removesuffix("\n")


def assert_one_clear_line(result: subprocess.CompletedProcess[str]) -> None:
    assert result.returncode != 0
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    assert "Java 17 or newer" in result.stderr
    assert "openjdk-17-jre-headless" in result.stderr
    assert "JAVA_HOME" in result.stderr


@pytest.mark.parametrize("version", ["17.0.15", "17", "21.0.2", "25-ea", "25"])
def test_java_home_is_used_when_new_enough(machine: Machine, tmp_path: Path, version: str) -> None:
    home = java(tmp_path / "good home", version)
    assert found(machine.run(java_home=home)) == str(home)


def test_path_is_used_when_java_home_is_unset(machine: Machine, tmp_path: Path) -> None:
    home = java(tmp_path / "seventeen", "17.0.1")
    machine.on_path(home)
    assert found(machine.run()) == str(home)


def test_home_is_derived_from_the_path_when_java_does_not_show_it(machine: Machine, tmp_path: Path) -> None:
    home = java(tmp_path / "quiet", "17.0.1", shows_home=False)
    machine.on_path(home)
    assert found(machine.run()) == str(home)


@pytest.mark.parametrize("old", ["1.8.0_402", "11.0.22", "16.0.2"])
def test_old_java_home_is_passed_over(machine: Machine, tmp_path: Path, old: str) -> None:
    machine.on_path(java(tmp_path / "new", "21.0.2"))
    assert found(machine.run(java_home=java(tmp_path / "old", old))) == str(tmp_path / "new")


def test_missing_java_home_is_passed_over(machine: Machine, tmp_path: Path) -> None:
    machine.on_path(java(tmp_path / "new", "17.0.1"))
    assert found(machine.run(java_home=tmp_path / "gone")) == str(tmp_path / "new")


def test_program_that_is_not_java_is_passed_over(machine: Machine, tmp_path: Path) -> None:
    executable(machine.bin / "java", "echo hello")
    home = java(machine.jvm / "java-17", "17.0.1")
    assert found(machine.run()) == str(home)


def test_lowest_sufficient_version_of_the_jvm_directory_wins(machine: Machine) -> None:
    for version in ("8", "11", "17", "21", "25"):
        java(machine.jvm / f"java-{version}", "1.8.0_402" if version == "8" else f"{version}.0.1")
    assert found(machine.run()) == str(machine.jvm / "java-17")


def test_no_java_and_not_root_says_what_to_install(machine: Machine) -> None:
    executable(machine.bin / "apt-get", "echo apt-get must not be called >&2")
    assert_one_clear_line(machine.run())


def test_only_old_java_and_not_root_says_what_to_install(machine: Machine, tmp_path: Path) -> None:
    machine.on_path(java(tmp_path / "eleven", "11.0.22"))
    java(machine.jvm / "java-8", "1.8.0_402")
    assert_one_clear_line(machine.run())


def test_root_without_apt_says_what_to_install(machine: Machine) -> None:
    machine.user(0)
    assert_one_clear_line(machine.run())


def test_find_never_installs(machine: Machine) -> None:
    machine.user(0)
    executable(machine.bin / "apt-get", "echo apt-get must not be called >&2")
    assert_one_clear_line(machine.run("--find"))


@pytest.mark.parametrize("packaged", ["openjdk-17-jre-headless", "default-jre-headless"])
def test_root_with_apt_installs(machine: Machine, tmp_path: Path, packaged: str) -> None:
    machine.user(0)
    log = tmp_path / "apt.log"
    installed = java(tmp_path / "package", "17.0.15", shows_home=False)
    place = machine.jvm / "java-new" / "bin"
    # Installing the fake package means making a symbolic link.
    (machine.bin / "ln").symlink_to(shutil.which("ln") or "ln")
    executable(
        machine.bin / "apt-get",
        f"""echo "$@" >> {log}
case "$*" in
    update*) exit 0 ;;
    install*" {packaged}") mkdir -p {place} && ln -s {installed}/bin/java {place}/java ;;
    *) exit 100 ;;
esac""",
    )
    result = machine.run()
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{machine.jvm}/java-new\n"
    calls = log.read_text().splitlines()
    assert calls[0].startswith("update")
    assert calls[-1].endswith(packaged)


def test_failing_apt_ends_with_what_to_install(machine: Machine) -> None:
    machine.user(0)
    executable(machine.bin / "apt-get", "exit 100")
    result = machine.run()
    assert result.returncode != 0
    assert result.stdout == ""
    assert "openjdk-17-jre-headless" in result.stderr.splitlines()[-1]
