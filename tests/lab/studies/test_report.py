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
from headgate_lab.studies.claims import Criterion, PaperClaim, SweepResults, judge
from headgate_lab.studies.figures import BoxChart, Chart, draw
from headgate_lab.studies.report import write
from headgate_lab.studies.study import Profile, Study, StudyResult, reproduce
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
    write(reproduce(study(CLAIM, replace(CLAIM, id="T-C2", fitted=True)), TINY, None), tmp_path)
    text, page = ((tmp_path / name).read_text() for name in ("report.md", "report.html"))
    assert text.count("| reproduced |") == text.count("| reproduced (fitted) |") == 1
    assert '<td class="reproduced">reproduced (fitted)</td>' in page
    claims = json.loads((tmp_path / "claims.json").read_text())["claims"]
    assert [claim["fitted"] for claim in claims] == [False, True]


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
