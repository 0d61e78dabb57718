"""Finds a piece of a query in the user's text, where an error only quotes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

Words = Sequence[str]


def location_in(text: str, fragments: Sequence[str]) -> str:
    """Line and character of the first fragment that is found, for the beginning of a message; empty if none is.

    Spaces, backticks, and the qualifiers of columns may differ. Of a fragment that is not in the text, because
    constants were computed or a `*` replaced, its longest beginning or end will do, if that is there only once.
    """
    pieces = [
        words for words in (re.findall(r"\w+|[^\w\s]", fragment.replace("`", "")) for fragment in fragments) if words
    ]
    finders: tuple[Callable[[str, Words], int | None], ...] = (_whole, _partly)
    for find in finders:
        for words in pieces:
            at = find(text, words)
            if at is not None:
                return f"line {text.count(chr(10), 0, at) + 1}, character {at - text.rfind(chr(10), 0, at)}: "
    return ""


def _whole(text: str, words: Words) -> int | None:
    found = re.search(_pattern(words), text, re.IGNORECASE)
    return found.start() if found else None


def _partly(text: str, words: Words) -> int | None:
    for part in _parts(words):
        places = [found.start() for found in re.finditer(_pattern(part), text, re.IGNORECASE)]
        if places:
            return places[0] if len(places) == 1 else None
    return None


def _parts(words: Words) -> Iterator[Words]:
    """Beginnings and ends, the longest first, as long as they say something: a name and one word more."""
    for length in range(len(words) - 1, 1, -1):
        for part in (words[:length], words[-length:]):
            if any(re.match(r"[^\W\d]", word) for word in part):
                yield part


def _pattern(words: Words) -> str:
    """The words in the user's text, where columns may have other qualifiers, or none: a column `s.k` of Spark's may be
    `k` there, and `k` may be `s.k`."""
    parts: list[str] = []
    for at, word in enumerate(words):
        is_name, follows = re.fullmatch(r"\w+", word), words[at + 1 : at + 2]
        if word == "." and at and parts[-1].endswith(")?"):
            continue  # taken with its qualifier
        if is_name and follows == ["."] and words[at - 1 : at] != ["."]:
            parts.append(rf"(?:\b{re.escape(word)}[\s`]*\.)?")
        elif is_name and follows != ["("] and words[at - 1 : at] != ["."]:
            parts.append(rf"(?:\b\w+[\s`]*\.[\s`]*)?\b{re.escape(word)}\b")
        else:
            parts.append(rf"\b{word}\b" if is_name else re.escape(word))
    return r"[\s`]*".join(parts)
