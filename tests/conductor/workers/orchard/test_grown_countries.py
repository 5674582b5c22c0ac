"""The countries that the orchard asks for."""

from __future__ import annotations

from conductor.workers.orchard import families
from conductor.workers.orchard.countries import countries, named_countries
from conductor.workers.orchard.families import grown_countries


def test_the_countries_are_the_same_where_two_threads_read_their_table_at_once(monkeypatch):
    before = [country.name for country in grown_countries()]
    assert named_countries("France")
    # As the thread that reads it second has them: other objects than those that are looked up by name.
    monkeypatch.setattr(families, "countries", countries.__wrapped__)
    assert [country.name for country in grown_countries.__wrapped__()] == before
    assert len(before) > 50
