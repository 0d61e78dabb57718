"""The files that a study writes to its folder."""

import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headgate.charts.boxes import Box
from headgate.charts.files import need_matplotlib
from headgate.errors import ApplicationError
from headgate_lab.studies.before import Before
from headgate_lab.studies.claims import Cause, Criterion, PaperClaim, SweepResults, judge
from headgate_lab.studies.figures import BoxChart, Chart, draw
from headgate_lab.studies.report import write
from headgate_lab.studies.study import Headline, Profile, Study, StudyResult, reproduce
from headgate_lab.studies.sweep import Point

TINY = Profile("quick", tuples=2, seeds=2, coarse=True)


def made_up(point: Point) -> dict[str, float]:
    return {"mean": point["x"] + point["seed"] / 10}


def line(results: SweepResults) -> list[Chart]:
    return [Chart("curve", "A <curve>", "x", "y", {"a": [(x, [1.0, x]) for x in (1.0, 2.0)]}, log_y=True)]


def study(*claims: PaperClaim) -> Study:
    return Study(
        name="tiny",
        title="A <tiny> study",
        source="nowhere",
        full=TINY,
        quick=TINY,
        points=lambda profile: (
            [{"x": x, "seed": seed} for x in (1, 2) for seed in range(profile.seeds)] + [{"y": 1, "x": 5, "seed": 0}]
        ),
        run=made_up,
        weight=lambda point: 1.0,
        claims=claims,
        charts=line,
        notes=("read so",),
    )


CLAIM = PaperClaim(
    "T-C1",
    "nowhere",
    "Figure 1",
    "x | y is positive",
    lambda results: judge(
        [Criterion("positive", [1.0, 1.1], low=-9)], list(results.by_seed("mean", x=1).values()), "it is <so>"
    ),
)


@pytest.fixture
def outcome() -> StudyResult:
    return reproduce(study(CLAIM), TINY, None)


def test_the_files(outcome: StudyResult, tmp_path: Path) -> None:
    files = write(outcome, tmp_path / "new" / "folder")
    names = {path.name for path in files}
    assert names == {"report.md", "report.html", "claims.json", "results.parquet", "curve.png", "curve.svg"}
    assert all(path.stat().st_size for path in files)


def test_the_report(outcome: StudyResult, tmp_path: Path) -> None:
    write(outcome, tmp_path)
    text, page = ((tmp_path / name).read_text() for name in ("report.md", "report.html"))
    assert "| T-C1 | Figure 1 | x \\| y is positive | it is <so> | 1.05 |" in text
    assert "![A <curve>](curve.png)" in text
    assert "<td>it is &lt;so&gt;</td>" in page
    assert '<td class="reproduced">reproduced</td>' in page
    assert '<img src="curve.svg" alt="A &lt;curve&gt;">' in page
    assert "2 tuples per stream, 2 seeds" in text


def test_the_rows(outcome: StudyResult, tmp_path: Path) -> None:
    write(outcome, tmp_path)
    rows = pq.read_table(tmp_path / "results.parquet").to_pylist()
    assert rows[0] == {"x": 1, "seed": 0, "mean": 1.0, "y": None}
    assert rows[-1] == {"x": 5, "seed": 0, "mean": 5.0, "y": 1}


def test_json_has_no_infinity(tmp_path: Path) -> None:
    one_seed = reproduce(study(CLAIM), Profile("quick", 1, 1), None)
    write(one_seed, tmp_path)
    written = json.loads((tmp_path / "claims.json").read_text())
    assert written["claims"][0]["interval"] == [None, None]


def test_what_is_not_finite_stays_valid_json(tmp_path: Path) -> None:
    beyond = replace(CLAIM, check=lambda results: judge([Criterion("odd", [1.0, math.inf])], [1.0, math.inf], "odd"))
    write(reproduce(study(beyond), TINY, None), tmp_path)
    (entry,) = json.loads((tmp_path / "claims.json").read_text(), parse_constant=pytest.fail)["claims"]
    assert (entry["value"], entry["interval"], entry["verdict"]) == (None, [None, None], "inconclusive")


def test_a_chart_leaves_out_what_was_not_measured(tmp_path: Path) -> None:
    chart = Chart("gaps", "gaps", "x", "y", {"a": [(1.0, []), (2.0, [1.0, math.nan]), (3.0, [1.0, 2.0])], "b": []})
    assert all(path.stat().st_size for path in draw([chart], tmp_path))


def test_a_fitted_claim_is_marked(tmp_path: Path) -> None:
    write(reproduce(study(CLAIM, replace(CLAIM, id="T-C2", fitted=True, tried=8)), TINY, None), tmp_path)
    text, page = ((tmp_path / name).read_text() for name in ("report.md", "report.html"))
    assert text.count("| reproduced |") == text.count("| reproduced (fitted, 8 settings tried) |") == 1
    assert '<td class="reproduced">reproduced (fitted, 8 settings tried)</td>' in page
    claims = json.loads((tmp_path / "claims.json").read_text())["claims"]
    assert [(claim["fitted"], claim["tried"]) for claim in claims] == [(False, 1), (True, 8)]


FAILING = replace(
    CLAIM,
    id="T-C3",
    check=lambda results: judge([Criterion("negative", [1.0, 1.1], high=-9.0)], [1.0, 1.1], "it is not"),
    cause=Cause("paper", "its <costs> are lost"),
)
OPEN = replace(
    CLAIM, id="T-C4", check=lambda results: judge([Criterion("torn", [1.0, -1.0], low=0.0)], [1.0, -1.0], "who knows")
)


def test_what_is_not_reproduced_says_why(tmp_path: Path) -> None:
    write(reproduce(study(CLAIM, FAILING, replace(FAILING, id="T-C5", cause=None), OPEN), TINY, None), tmp_path)
    claims = json.loads((tmp_path / "claims.json").read_text())["claims"]
    assert [claim["reason"] for claim in claims] == [None, "paper", "replica", "sample"]
    assert [claim["why"] for claim in claims[:2]] == ["", "its <costs> are lost"]
    assert all(claim["why"] for claim in claims[1:])
    text, page = ((tmp_path / name).read_text() for name in ("report.md", "report.html"))
    assert "| paper: its <costs> are lost | refuted |" in text
    assert "Reproduced: 1 of 4. paper (1): what it needs is lost" in text
    assert '<td>paper: its &lt;costs&gt; are lost</td><td class="refuted">refuted</td>' in page


def test_what_holds_comes_first(tmp_path: Path) -> None:
    lines = (
        Headline("speed", "take a", ("T-C1",)),
        Headline("order", "take b", ("T-C1", "T-C3")),
        Headline("memory", "take c", ("T-C1", "T-C4")),
        Headline("smoothness", "take d", ("T-C2",)),
        Headline("both", "take e", ("T-C3",), CLAIM.check),
    )
    fitted = replace(CLAIM, id="T-C2", fitted=True)
    outcome = reproduce(replace(study(CLAIM, FAILING, OPEN, fitted), headlines=lines), TINY, None)
    write(outcome, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert text.index("## What holds") < text.index("## Claims")
    assert "| speed | take a |  | T-C1 reproduced | holds |" in text
    assert "| order | take b |  | T-C1 reproduced, T-C3 refuted | does not hold |" in text
    found = [headline["holds"] for headline in outcome.summary()["headlines"]]
    assert found == ["holds", "does not hold", "open", "holds (fitted)", "holds"]
    assert "| both | take e | it is <so> | T-C3 refuted | holds |" in text


def test_a_verdict_that_changed_tells_which_change_did_it(tmp_path: Path) -> None:
    before = Before("some day", {"T-C1": "refuted", "T-C3": "refuted", "T-C4": "refuted"}, {"T-C1": "another workload"})
    write(reproduce(replace(study(CLAIM, FAILING, OPEN), before=before), TINY, None), tmp_path)
    claims = json.loads((tmp_path / "claims.json").read_text())["claims"]
    assert [claim["before"] for claim in claims] == ["refuted"] * 3
    text = (tmp_path / "report.md").read_text()
    assert "| T-C1 | refuted | reproduced | another workload |" in text
    assert "| T-C4 | refuted | inconclusive | not known: a run of another size, or chance |" in text
    assert "| T-C3 | refuted | refuted" not in text
    assert "Before: some day." in text


def test_boxes_are_drawn_side_by_side(tmp_path: Path) -> None:
    box = Box(1.0, 2.0, 3.0, 4.0, 5.0, 3.5)
    boxes = {"rr": [box, None], "fifo": [box, box]}
    chart = BoxChart("boxes", "boxes", "class", "ms", {}, log_y=True, groups=["most important", "other"], boxes=boxes)
    files = draw([chart], tmp_path)
    assert [path.name for path in files] == ["boxes.png", "boxes.svg"]
    text = files[1].read_text()
    assert all(f"<!-- {label} -->" in text for label in ("most important", "other", "rr", "fifo"))


def test_figures_drawn_twice_are_identical_files(tmp_path: Path) -> None:
    chart = line(SweepResults([]))
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        draw(chart, tmp_path / name)
    for ending in ("png", "svg"):
        assert (tmp_path / f"a/curve.{ending}").read_bytes() == (tmp_path / f"b/curve.{ending}").read_bytes()


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ApplicationError, match=r"matplotlib is not installed.*headgate\[plot\]"):
        need_matplotlib()


def test_progress_is_reported() -> None:
    calls: list[tuple[int, int]] = []
    reproduce(study(), TINY, None, lambda done, of: calls.append((done, of)))
    assert calls == [(done, 5) for done in range(6)]
