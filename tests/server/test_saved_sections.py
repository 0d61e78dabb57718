"""What the server's database keeps of sections, also one that an earlier version wrote."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from headgate.errors import ApplicationError
from headgate.server.database import VERSION, open_database
from headgate.server.saved_sections import SavedSection, SavedSections

SECTION = {"cql": "SELECT k FROM s"}


def test_when_a_query_was_started_stays_until_it_is_started_again(tmp_path: Path) -> None:
    with open_database(tmp_path) as database:
        saved = SavedSections(database)
        saved.save("queries", "q", SECTION, since=10.5)
        saved.save("queries", "q", {**SECTION, "class": "gold"})
        assert saved.of("queries")["q"] == SavedSection({**SECTION, "class": "gold"}, True, 10.5)
        saved.save("queries", "q", SECTION, started=False)
        saved.save("queries", "q", SECTION, since=20.0)
        assert saved.of("queries")["q"] == SavedSection(SECTION, True, 20.0)
        saved.forget("queries", "q")
        saved.save("queries", "q", SECTION)
        assert saved.of("queries")["q"].since == 0.0


def test_a_database_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    with open_database(tmp_path) as database:
        SavedSections(database).save("queries", "q", SECTION, started=False)
    with sqlite3.connect(tmp_path / "headgate.db") as connection:
        connection.executescript("ALTER TABLE sections DROP COLUMN since; PRAGMA user_version = 1;")
    connection.close()
    for _ in range(2):
        with open_database(tmp_path) as database:
            assert SavedSections(database).of("queries")["q"] == SavedSection(SECTION, False, 0.0)


def test_a_database_of_a_later_version_is_refused(tmp_path: Path) -> None:
    with open_database(tmp_path):
        pass
    with sqlite3.connect(tmp_path / "headgate.db") as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    with pytest.raises(ApplicationError, match=f"version {VERSION + 1}"), open_database(tmp_path):
        pass
