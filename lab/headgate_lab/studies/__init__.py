"""The papers' experiments made again, claim by claim.

A study is a module with a `STUDY` (a `study.Study`) and one line in `lab/headgate_lab/commands/reproduce.py`:

* `points(profile)` lists every run as a dict of plain parameters, `seed` among them; runs that differ only in `policy`
  share their seed, hence all random numbers.
* `run(point)` simulates one and returns what it measured, as a flat dict. It is a function of the module, because
  `sweep.sweep` sends it to Spark's workers; a run depends on its point and nothing else.
* `claims` are `claims.Claim`s: id, source, figure, text, and `check(results) -> Finding`. A check asks
  `results.by_seed("mean_s", policy="rb", theta=0.9)` for a dict seed -> value, builds quantities from such dicts with
  `paired`, `reduction` or `difference`, and hands them to `judge(parts, headline, text)`: a `Part(what, samples, low,
  high)` says in which open range the claim puts a quantity. `judge` works out intervals and the verdict.
* `charts(results)` gives `figures.Chart`s: a name, labels, and lines of (x, samples over seeds).

`study.reproduce` runs the sweep and judges; `report.write` leaves figures, report and raw rows in a folder.
"""
