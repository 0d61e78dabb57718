"""Any text given as CQL either compiles or raises one ApplicationError, and nothing else."""

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headgate.errors import ApplicationError
from headgate.language.rules import RULES
from tests.language.catalogs import SENSORS, compiled
from tests.language.fixture_files import FOLDER, read
from tests.tiers import examples

_WORDS = r"""
SELECT|FROM|WHERE|GROUP BY|HAVING|WITH v AS|UNION ALL|EXCEPT|INTERSECT ALL|JOIN|LEFT JOIN|ON|USING|AS|DISTINCT|AND|OR
NOT|IN|IS NULL|BETWEEN|CASE WHEN|THEN|ELSE|END|CAST|INTERVAL '1' DAY|ISTREAM(|DSTREAM(|RSTREAM(|(|)|,|;|.|*|[NOW]
[RANGE 5 SECONDS]|[ROWS 2 SLIDE 2]|[PARTITION BY location ROWS 2]|[RANGE|]|[|sensors|doors|places|clicks|S|v|location
humidity|ts|s.location|tags[0]|user.id|window|window(ts, '1 day')|count(*)|sum(humidity)|x -> x|'a'|1|0.5|=|<=>|+|-|/
%|"|`|--|/*|*/|rand()|TRUE|NULL|?|:a|@b|{|}|$$|\|ORDER BY|LIMIT 1|OVER ()|LATERAL VIEW
"""
WORDS = [*_WORDS.strip().replace("\n", "|").split("|"), "||", "\n", "\0"]
QUERIES = [read(file)[1] for file in sorted(FOLDER.glob("*.cql")) if "-- catalog: sensors" in file.read_text()]


def attempt(text: str) -> None:
    for rules in ((), RULES):
        problem: ApplicationError | None = None
        try:
            compiled(text, SENSORS, rules)
        except ApplicationError as error:
            problem = error
        if problem is not None:
            assert problem.problem
            assert problem.place == "queries.q.cql"


@settings(max_examples=examples(75, 300), deadline=None)
@given(st.text(max_size=40))
@example("SELECT a FROM s WHERE 'x")
@example("SELECT * FROM sensors WHERE (((((((((((((((((((((((((((((((((((humidity")
def test_any_text(text: str) -> None:
    attempt(text)


@settings(max_examples=examples(150, 600), deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=14))
def test_any_words(words: list[str]) -> None:
    attempt(" ".join(words))
    attempt("SELECT location FROM sensors " + " ".join(words))


@settings(max_examples=examples(100, 400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(QUERIES), st.data())
def test_changed_queries(query: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(query)))
    cut = data.draw(st.integers(0, 12))
    new = data.draw(st.sampled_from(WORDS) | st.text(max_size=5))
    attempt(query[:start] + new + query[start + cut :])
