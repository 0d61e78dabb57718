"""The papers' experiments made again, claim by claim.

A study is a module with a `STUDY` (a `study.Study`) and one line in `lab/headgate_lab/commands/reproduce.py`:

* `points(profile)` lists every run as a dict of plain parameters, including `seed`; runs that differ only in `policy`
  share their seed, and hence all random numbers.
* `run(point)` simulates one point and returns its measurements as a flat dict. It is a module-level function, because
  `sweep.sweep` sends it to Spark's workers; a run depends on its point and nothing else.
* `claims` are `claims.PaperClaim`s: id, source, figure, text, and `check(results) -> Finding`. A check asks
  `results.by_seed("mean_s", policy="rb", theta=0.9)` for a dict seed -> value, builds quantities from such dicts with
  `paired`, `reduction` or `difference`, and passes them to `judge(criteria, headline, text)`. A `Criterion(what,
  samples, low, high)` gives the open range in which the claim puts a quantity. `judge` computes intervals and verdict.
* `charts(results)` returns `figures.Chart`s: a name, labels, and lines of (x, samples over seeds).

`study.reproduce` runs the sweep and judges the claims; `report.write` writes figures, report and raw rows to a folder.
"""
