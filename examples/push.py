"""Push rows into a run from Python, read what comes of them, and change the run while it goes on.

python examples/push.py
"""

import headgate as hg

app = hg.Application(policy="mbd", slots=2)
app.stream("clicks", "user STRING, price DOUBLE", source=hg.sources.Push())
app.table("users", [{"user": "ann", "limit": 10.0}, {"user": "bob", "limit": 20.0}])
app.add_class("critical", priority=6)
app.query(
    "fraud",
    "SELECT c.user, c.price FROM clicks c JOIN users u ON c.user = u.user WHERE c.price > u.`limit`",
    in_class="critical",
)

with app.start() as run:
    run.push("clicks", [{"user": "ann", "price": 12.5}, {"user": "bob", "price": 12.5}])
    run.drain()
    print(run.results("fraud").to_pandas())
    run.set_priority("critical", 9)
    run.push("clicks", [("bob", 30.0)])
    run.end("clicks")
    for batch in run.results("fraud"):
        print(batch.to_pylist())

print(run.report().classes["critical"].outputs)
