"""Hostile query texts and application files from a seeded generator: each loads, or gives one clean error.

`make soak` and `make nightly` try 10,000 of them, the other tiers a hundred.
"""

import copy
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from headgate.application.document import Document
from headgate.application.load import load_application
from headgate.errors import ApplicationError
from tests.application.apps import GOOD, write_app
from tests.application.test_load_fuzz import NASTY, places
from tests.language.test_fuzz import QUERIES, WORDS, attempt
from tests.tiers import examples

HOSTILE = (
    """
unnest(array(1,2,3))|map('a')|struct(*)|arrays_zip(tags, *)|reflect('java.lang.System', 'exit', 1)|-1::string
array(humidity, 7)[0]|identifier('_arrival')|_arrival|`_time`|* EXCEPT (ts)|sensors.*|((((((|))))|(x, y) -> x|r'\\'
X'F'|1e400|99999999999999999999L|INTERVAL|INTERVAL '1' FORTNIGHT|CASE CASE|CAST(1 AS|::|::array<|a:b:c|FILTER (WHERE
WITHIN GROUP (|IGNORE NULLS|FOR SYSTEM_TIME AS OF ts|NOT EXISTS (SELECT 1)|IN (|IN (SELECT|LIKE ANY (|BETWEEN 1 AND
ESCAPE|=>|->|{{x}}|%s|${HOME}|'; DROP TABLE x; --|\\u0000|\\ud800|\N{ZERO WIDTH SPACE}|\N{RIGHT-TO-LEFT OVERRIDE}|é|🙂
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
PLACES = places(Document(GOOD).data)


def hostile_text(draw: random.Random) -> str:
    words = WORDS + HOSTILE
    kind = draw.randrange(3)
    if kind == 0:
        return "SELECT " + " ".join(draw.choices(words, k=draw.randrange(1, 9))) + " FROM sensors"
    query = draw.choice(QUERIES)
    start = draw.randrange(len(query) + 1)
    if kind == 1:
        return query[:start] + draw.choice(words) + query[start + draw.randrange(12) :]
    return query[:start] + draw.choice(words) * draw.choice([1, 2, 40]) + query[start:]


def hostile_file(draw: random.Random) -> str:
    data: Any = copy.deepcopy(Document(GOOD).data)
    for *above, key in draw.choices(PLACES, k=draw.randrange(1, 4)):
        target = data
        try:
            for part in above:
                target = target[part]
            target[key] = draw.choice([None, -1, 1e308, [], {}, True, draw.choice(NASTY), draw.choice(HOSTILE)])
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change removed this place
    return yaml.safe_dump(data, allow_unicode=draw.random() < 0.5)


def try_all(count: int, seed: int, folder: Path) -> None:
    draw = random.Random(seed)
    path = write_app(folder, GOOD)
    for _ in range(count):
        if draw.random() < 0.7:
            attempt(hostile_text(draw))
            continue
        path.write_text(hostile_file(draw), encoding="utf-8")
        problem: ApplicationError | None = None
        try:
            load_application(path, [])
        except ApplicationError as error:
            problem = error
        assert problem is None or problem.problem


def test_some_hostile_inputs(tmp_path: Path) -> None:
    try_all(examples(100, 300), 18, tmp_path)


@pytest.mark.soak
def test_ten_thousand_hostile_inputs(tmp_path: Path) -> None:
    try_all(10_000, 7, tmp_path)
