"""Tests here may ask for a real store: see `store_fixtures`."""

from tests.support.stores.store_fixtures import *  # noqa: F403 - pytest finds fixtures by their names here
