"""README, CONTRIBUTING and docs are executed: commands and their shown output, code, YAML, links, options, names.

In ```console blocks a line that begins with `$ ` is a command, and what follows is its output; a line `...` stands for
any number of lines, and `...` within a line for any text. Commands run in a copy of the examples folder. For `make`
lines only the target is checked. In ```python blocks, `print(...)  # text` must print that text. The Python of the
README and of the tutorial is executed by test_read_in_order.py, what docs/server.md shows by test_server_page.py.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from headgate.application import file, operator_sections
from headgate.application.checked import CheckedApplication, PolicySettings, RunLimits
from headgate.application.load import load_application
from headgate.cli.main import app as cli
from headgate.connect.sinks import SINKS
from headgate.connect.sources import SOURCES, TABLES
from headgate.policies.registry import POLICIES
from headgate.runtime.simulated import SimulationResult, simulate
from headgate.scheduling.policy import Policy, View
from headgate.settings.sections import Section
from tests.docs.pages import PAGES, README, ROOT, TUTORIAL, assert_printed, blocks, commands, matches, run_headgate

IDLE = RunLimits(until_idle=True)


def page_name(page: Path) -> str:
    return page.name


# Commands --------------------------------------------------------------------------------------------------------


def test_the_matcher_can_fail() -> None:
    assert matches(["a", "...", "c ..."], "a\nx\ny\nc 12  \n")
    assert matches(["a"], "a   \n")
    assert not matches(["a"], "a\nb\n")
    assert not matches(["a", "..."], "b\n")


@pytest.mark.spark
def test_commands_that_start_no_run(spark: Any, copy: Path) -> None:
    on_pages = [command.split()[:2] for page in PAGES for command, _ in commands(page)]
    assert ["headgate", "explain"] in on_pages
    assert ["headgate", "simulate"] in on_pages
    for page in PAGES:
        for command, shown in commands(page):
            if command.startswith(("headgate run", "cat ")):
                continue  # other tests run these
            if command.startswith("make "):
                words = ["make", "-n", *shlex.split(command)[1:]]
                dry_run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
                assert dry_run.returncode == 0, dry_run.stderr
            else:
                assert command.startswith("headgate "), f"{page.name}: cannot try '{command}'"
                output = run_headgate(command).stdout
                assert matches(shown, output), f"{page.name}: {command} gave\n{output}"


@pytest.mark.spark
def test_the_readme_runs_on_spark(spark: Any, copy: Path) -> None:
    assert runs_of(README) == 1


@pytest.mark.spark
def test_the_tutorial_runs_on_spark(spark: Any, copy: Path) -> None:
    assert runs_of(TUTORIAL) == 3


@pytest.mark.spark
def test_the_cql_page_runs_on_spark(spark: Any, copy: Path) -> None:
    assert runs_of(ROOT / "docs" / "cql.md") == 2


def runs_of(page: Path) -> int:
    """Run the commands of a page that need Spark, and compare their output. Returns how many commands there were."""
    ran = 0
    for command, shown in commands(page):
        if command.startswith("headgate run"):
            output = run_headgate(command).stdout
        elif command.startswith("cat "):
            output = Path(command.removeprefix("cat ")).read_text(encoding="utf-8")
        else:
            continue
        ran += 1
        assert matches(shown, output), f"{command} gave\n{output}"
    return ran


# Code and YAML ---------------------------------------------------------------------------------------------------

ELSEWHERE = (README, TUTORIAL, ROOT / "CONTRIBUTING.md", ROOT / "docs" / "server.md")
PYTHON = [(page, code) for page in PAGES if page not in ELSEWHERE for code in blocks(page, "python")]


NEEDS_SPARK = re.compile(r"\.(start|run)\(")
PURE = [(page, code) for page, code in PYTHON if not NEEDS_SPARK.search(code)]
ON_SPARK = [(page, code) for page, code in PYTHON if NEEDS_SPARK.search(code)]


@pytest.mark.parametrize(("page", "code"), PURE, ids=[page.name for page, _ in PURE])
def test_python_blocks_run(page: Path, code: str, copy: Path) -> None:
    check_python(page, code)


@pytest.mark.spark
@pytest.mark.parametrize(("page", "code"), ON_SPARK, ids=[page.name for page, _ in ON_SPARK])
def test_python_blocks_run_on_spark(spark: Any, page: Path, code: str, copy: Path) -> None:
    check_python(page, code)


def check_python(page: Path, code: str) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, page.name, "exec"), {"__name__": "docs"})
    assert_printed(code, out.getvalue())


def test_yaml_blocks_load(copy: Path) -> None:
    found = [(page, text) for page in PAGES for text in blocks(page, "yaml")]
    assert len(found) >= 4
    for page, text in found:
        file = copy / "examples" / "block.yaml"
        file.write_text(text, encoding="utf-8")
        assert load_application(file).plan.queries, page.name


@pytest.mark.parametrize(("page", "example"), [(README, "importance.yaml"), (TUTORIAL, "first.yaml")])
def test_pages_show_the_examples_themselves(page: Path, example: str) -> None:
    assert (ROOT / "examples" / example).read_text(encoding="utf-8") in blocks(page, "yaml")


# The policy in CONTRIBUTING --------------------------------------------------------------------------------------


@pytest.fixture
def longest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of the policy, which gets a module of its own here and is registered for one test."""
    (code,) = blocks(ROOT / "CONTRIBUTING.md", "python")
    assert len(code.splitlines()) <= 15
    file = tmp_path / "longest.py"
    file.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("longest_of_contributing", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (kind,) = [k for k in vars(module).values() if isinstance(k, type) and issubclass(k, Policy) and k is not Policy]
    monkeypatch.setitem(POLICIES, kind.name, kind)
    return kind.name


def simulated(policy: str, **changes: Any) -> tuple[CheckedApplication, SimulationResult]:
    rows = ["streams.sensors.source.rows=600", "streams.doors.source.rows=200"]
    app = load_application("examples/sensors.yaml", [*rows, f"policy={policy}"])
    return app, simulate(app, IDLE, **changes)


def test_the_policy_conserves_tuples_and_gives_the_same_results(longest: str, copy: Path) -> None:
    app, result = simulated(longest, trace=True)
    assert app.policy == PolicySettings("longest")
    for name, counts in result.operators.items():
        assert counts["in"] == counts["processed"] + counts["queued"] + counts["shed"], name
        assert counts["queued"] == 0, name
    _, other = simulated("fifo")
    outputs = {name: query["outputs"] for name, query in result.report["queries"].items()}
    assert outputs == {name: query["outputs"] for name, query in other.report["queries"].items()}
    assert sum(outputs.values()) > 100


def test_the_policy_takes_the_longest_queue(longest: str, copy: Path) -> None:
    text = (copy / "examples" / "first.yaml").read_text(encoding="utf-8")
    second = "  more:\n    schema: 'k INT'\n    source: {kind: feeder, rate: 1e9, rows: 50, arrivals: constant}\n"
    many = "  many:\n    class: archive\n    operators: [{id: all, kind: select, input: more, where: 'k > 1'}]\n"
    text = text.replace("tables:\n", second + "tables:\n").replace("queries:\n", "queries:\n" + many)
    (copy / "examples" / "two.yaml").write_text(text, encoding="utf-8")
    app = load_application("examples/two.yaml", [f"policy={longest}"])
    trace = simulate(app, IDLE, trace=True).trace
    assert trace is not None
    assert [call.unit for call in trace.calls[:2]] == ["fire", "many"]  # tuples of `many` arrive a moment later


def test_the_registry_has_the_lines_that_are_shown() -> None:
    shown = blocks(ROOT / "CONTRIBUTING.md", "text")[0]
    registry = (ROOT / "headgate" / "policies" / "registry.py").read_text(encoding="utf-8")
    assert shown.split("    ...")[0] in registry


@pytest.mark.usefixtures("longest")
def test_the_policy_is_listed() -> None:
    assert "longest" in run_headgate("headgate policies").stdout


# Names -----------------------------------------------------------------------------------------------------------


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf-8"))):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), f"{page.name}: {link}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", without_code(target.read_text(encoding="utf-8")), re.MULTILINE)
            assert anchor in [slug(heading) for heading in headings], f"{page.name}: {link}"


def test_every_page_is_linked_from_the_readme() -> None:
    text = README.read_text(encoding="utf-8")
    for page in PAGES[1:]:
        assert f"({page.relative_to(ROOT)})" in text, page.name


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_options_and_commands_exist(page: Path) -> None:
    group: Any = typer.main.get_command(cli)
    commands_below = [one for command in group.commands.values() for one in getattr(command, "commands", {}).values()]
    parts = (group, *group.commands.values(), *commands_below)
    options = {name for part in parts for p in part.params for name in (*p.opts, *p.secondary_opts)}
    text = page.read_text(encoding="utf-8")
    for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text):
        assert option in options, f"{page.name}: there is no option {option}"
    for command in re.findall(r"(?:`|\$ )headgate ([a-z]+)", text):
        assert command in group.commands, f"{page.name}: there is no command {command}"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_files_and_targets_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:headgate|lab|tests|docs|examples|scripts)/[\w./-]*)`", text):
        assert (ROOT / name).exists() or "NAME" in name, f"{page.name}: there is no {name}"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make ([a-z]+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{page.name}: there is no make {target}"


def test_every_key_of_the_application_file_is_documented() -> None:
    pages = ("application.md", "connectors.md", "kafka.md")
    text = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in pages)
    named = [*vars(file).values(), *vars(operator_sections).values(), *TABLES.values()]
    named += [kinds[name] for kinds in (SOURCES, SINKS) for name in kinds.own]
    kinds = [k for k in named if isinstance(k, type) and issubclass(k, Section)]
    missing = {key for kind in kinds for key in kind.known() if not re.search(rf"[`{{ ]{key}[`,:}}]", text)}
    assert not missing


def test_every_part_of_the_protocol_is_documented() -> None:
    text = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    parts = {name for kind in (Policy, View) for name in vars(kind) if not name.startswith("_")}
    assert {name for name in parts if not re.search(rf"`{name}\b", text)} == set()
    for name, kind in POLICIES.items():
        assert f"## {name}\n" in text, f"policy {name} is not explained"
        assert kind.paper, name


def test_the_page_shows_the_protocol_as_it_is_in_the_code() -> None:
    source = (ROOT / "headgate" / "scheduling" / "policy.py").read_text(encoding="utf-8")
    lines = {line.partition("  # ")[0].strip() for line in source.splitlines()}
    shown = blocks(ROOT / "docs" / "policies.md", "text")[0].splitlines()
    assert [line for line in shown if line.strip() not in lines] == []


def test_every_key_of_the_report_is_documented(copy: Path) -> None:
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    report = simulate(load_application("examples/first.yaml"), IDLE).report
    inner = [*report["queries"]["fire"], *report["classes"]["critical"]]
    assert {key for key in (*report, *inner) if f"`{key}`" not in text} == set()


def test_errors_on_the_page_are_the_real_ones(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = (ROOT / "docs" / "application.md").read_text(encoding="utf-8")
    monkeypatch.chdir(copy / "examples")
    error = run_headgate("headgate explain first.yaml --set queries.fire.class=critcal", exit_code=2).stderr
    assert error.strip() in shown
    text = Path("first.yaml").read_text(encoding="utf-8")
    Path("first.yaml").write_text(text.replace("temperature > 35", "temprature > 35"), encoding="utf-8")
    assert run_headgate("headgate explain first.yaml", exit_code=2).stderr.strip() in shown


def test_docs_name_no_folder_of_this_machine() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert str(ROOT) not in text, page.name
        assert str(Path(sys.prefix)) not in text, page.name
