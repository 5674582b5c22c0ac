"""How pytest goes about its work: with what profile and what marks.

What the tests stand on is in `ground.py`. Connections other than loopback are refused by pytest-socket (see
pyproject.toml).
"""

from __future__ import annotations

import gc
import logging
import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from property_cases import PROFILES

from studio.gc_tuning import THRESHOLDS

JOURNEYS = {
    "test_from_nothing_to_an_answer_of_several_models",
    "test_a_question_is_asked_and_followed_up_by_keyboard_and_kept_until_then",
    "test_a_rerun_calls_only_what_an_edit_touched",
    "test_access_is_drawn_and_deleted_in_the_graph_and_counts_at_the_rerun",
    "test_stop_ends_a_run_and_keeps_what_is_done",
    "test_a_failed_step_says_why_and_the_rest_is_kept",
    "test_a_gate_is_set_in_the_graph_and_a_run_waits_there_until_it_is_continued",
    "test_planning_streams_with_thinking_and_retries_and_ends_in_the_plan",
    "test_both_sides_show_as_much_on_their_cards",
    "test_a_person_logs_in_works_and_logs_out",
    "test_a_file_of_questions_becomes_a_table_whose_disagreements_open_on_compare",
    "test_on_a_phone_the_answer_comes_first_and_a_step_comes_up_from_below",
    "test_an_answer_is_rendered_and_its_source_is_one_click_away",
}
"""The ways that everyone walks through the app in a browser."""

MEMORY, ROOM = Path("/dev/shm"), 4_000_000_000
"""A folder of Linux whose files are in memory, and the bytes that are to be free there."""

# Whether drawing an example takes long is the machine's business.
for name, number in PROFILES.items():
    settings.register_profile(
        name, max_examples=number, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile("whole")


def pytest_configure(config: pytest.Config) -> None:
    """A suite that was started in the background ignores these signals, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if _has_room_in_memory():
        # On a disk each of the many stores waits for it, twice.
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    is_worker = hasattr(config, "workerinput")
    if is_worker or config.getoption("dist", "no") == "no":
        config.pluginmanager.import_plugin("ground")


def _has_room_in_memory() -> bool:
    """Whether `MEMORY` takes the files of a whole session, and lets programs start from it."""
    if not MEMORY.is_dir():
        return False
    system = os.statvfs(MEMORY)
    free = system.f_bavail * system.f_frsize
    return free > ROOM and not system.f_flag & os.ST_NOEXEC and os.access(MEMORY, os.W_OK)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One a core."""
    return os.cpu_count() or 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what runs on PostgreSQL or in a browser and is no journey, and what asks a running server.

    Long files come first, so that no worker is left with one at the end.
    """
    for item in items:
        case, fixtures = getattr(item, "callspec", None), getattr(item, "fixturenames", ())
        on_postgres = case is not None and case.params.get("kind") == "postgresql"
        if on_postgres or "postgres" in fixtures:
            item.add_marker(pytest.mark.thorough)
        if "one_stage" in fixtures:
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("browser") and getattr(item, "originalname", "") not in JOURNEYS:
            item.add_marker(pytest.mark.thorough)
    tests = Counter(item.path for item in items)
    long = {item.path for item in items if _is_long({mark.name for mark in item.iter_markers()})}
    items.sort(key=lambda item: (item.path not in long, -tests[item.path], item.path))


def _is_long(marks: set[str]) -> bool:
    return "browser" in marks or marks >= {"slow", "thorough"}


def pytest_collection() -> None:
    """Nothing that is imported becomes garbage, so nobody looks for it until all is."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What was imported is never looked at again."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)  # as in the app
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("streamlit") and isinstance(logger, logging.Logger):
            logger.propagate = True  # else pytest listens to each of them by itself, with every test
