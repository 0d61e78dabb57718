"""A piece of a query that an error quotes is found in the user's text, also where Spark got it in other words."""

import pytest

from headgate.errors import ApplicationError
from headgate.language.fragments import location_in
from tests.language.catalogs import compiled


@pytest.mark.parametrize(
    ("text", "fragment", "expected"),
    [
        ("SELECT k\nFROM a WHERE f(a.k,  x) > 1", "f(k, x) > 1", "line 2, character 14: "),
        ("SELECT k, f( `k` ) FROM a", "f(a.k)", "line 1, character 11: "),
        # Constants were computed, a * replaced: what is left of the fragment says where.
        ("SELECT k FROM a WHERE 1 - -1 = map('a', 1)", "2 = map('a', 1)", "line 1, character 30: "),
        ("SELECT k, sum(1 <= 2) AS c FROM a GROUP BY k", "sum(true)", "line 1, character 11: "),
        ("SELECT DISTINCT ttags(struct(*)) AS c FROM a", "ttags(struct(k, v))", "line 1, character 17: "),
        # But not when it may be anywhere.
        ("SELECT sum(1), sum(2 > 1) FROM a", "sum(true)", ""),
        ("SELECT 1 + 1 FROM a", "2", ""),
        ("SELECT k FROM a", "f(x)", ""),
        ("SELECT k FROM a", "` `", ""),
    ],
)
def test_where_a_fragment_is(text: str, fragment: str, expected: str) -> None:
    assert location_in(text, [fragment]) == expected


def test_a_whole_fragment_is_better_than_a_part_of_another() -> None:
    assert location_in("SELECT f(1), g(2) FROM a", ["f(3, 4)", "g(2)"]) == "line 1, character 14: "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT k FROM clicks\nWHERE k = 1 AND user > 1", "line 2, character 17: 'user > 1' compares STRUCT"),
        ("SELECT a -> user FROM clicks", "line 1, character 8: 'a -> user' is not an expression"),
    ],
)
def test_mistakes_that_only_operators_find_have_a_place(text: str, expected: str) -> None:
    with pytest.raises(ApplicationError) as caught:
        compiled(text)
    assert str(caught.value).startswith(f"queries.q.cql: {expected}")
