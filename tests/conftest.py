"""How pytest goes about its work: with what profile and what marks.

What the tests stand on is in `ground.py`. Connections other than loopback are refused by pytest-socket (see
pyproject.toml).
"""

from __future__ import annotations

import faulthandler
import gc
import logging
import os
import random
import re
import signal
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from pytest_timeout import Settings
from xdist.scheduler import LoadFileScheduling

from studio.gc_tuning import THRESHOLDS
from tests.support.cases.property_cases import PROFILES
from tests.support.processes.caller import forget

MEMORY, ROOM = Path("/dev/shm"), 4_000_000_000
"""A folder of Linux whose files are in memory, and the bytes that are to be free there."""

GRACE = 120
"""The seconds that a test has to fail after its limit (pyproject.toml), before its process is ended."""

_WHOLE = re.compile(r"^pytestmark = (?:\[[^\]]*\]|.*)", re.MULTILINE)
"""The marks of all tests of a file."""

_LISTED = tomllib.loads(Path(__file__).with_name("unsteady.toml").read_text(encoding="utf-8"))

UNSTEADY = {entry["test"]: entry["cause"] for entry in _LISTED.get("unsteady", ())}
"""The suspected cause of each test that was unsteady twice: it runs and is printed, and does not decide."""

STACKS = pytest.StashKey[int]()
"""Where the stacks of a test that hangs are written: standard error, as it is before pytest captures it."""

# Whether drawing an example takes long is the machine's business.
for name, number in PROFILES.items():
    settings.register_profile(
        name, max_examples=number, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile("whole")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The order of the files by chance, which shows a test that depends on what another one leaves behind."""
    parser.addoption("--shuffle", metavar="SEED", help="draw the order of the files from this seed")


@pytest.hookimpl(trylast=True)  # once pytest knows whether its own output has colours
def pytest_configure(config: pytest.Config) -> None:
    """A suite that was started in the background ignores these signals, and so would all that it starts."""
    if sys.flags.optimize:
        raise pytest.UsageError("With PYTHONOPTIMIZE or -O, Python leaves out what tests assert; unset it.")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # Ended so, as CI does with a job that takes too long, it ends its servers and removes their folders, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config.stash[STACKS] = os.dup(2)
    # Where the environment forbids it, as in many containers, each worker would compile all tests again.
    sys.dont_write_bytecode = False
    if _has_room_in_memory():
        # On a disk each of the many stores waits for it, twice.
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    is_worker = hasattr(config, "workerinput")
    if is_worker or config.getoption("dist", "no") == "no":
        forget(os.environ)
        config.pluginmanager.import_plugin("ground")


def _has_room_in_memory() -> bool:
    """Whether `MEMORY` takes the files of a whole session, and lets programs start from it."""
    if not MEMORY.is_dir():
        return False
    system = os.statvfs(MEMORY)
    free = system.f_bavail * system.f_frsize
    return free > ROOM and not system.f_flag & os.ST_NOEXEC and os.access(MEMORY, os.W_OK)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """A test that heeds no signal, as in a call into C, is ended with its process; all stacks are written.

    xdist reports it as failed, and goes on in a new process.
    """
    yield from _ended_when_it_hangs(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """As its setup."""
    yield from _ended_when_it_hangs(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """As its setup, and with a limit of its own: pytest-timeout's ends as soon as a test has failed."""
    limit = Settings(_limit(item), "signal", func_only=False, disable_debugger_detection=False)
    item.config.hook.pytest_timeout_cancel_timer(item=item)
    item.config.hook.pytest_timeout_set_timer(item=item, settings=limit)
    yield from _ended_when_it_hangs(item)


def _ended_when_it_hangs(item: pytest.Item) -> Iterator[None]:
    faulthandler.dump_traceback_later(_limit(item) + GRACE, exit=True, file=item.config.stash[STACKS])
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _limit(item: pytest.Item) -> float:
    """The seconds that a test may take."""
    mark = item.get_closest_marker("timeout")
    return float(mark.args[0] if mark else item.config.getoption("timeout") or item.config.getini("timeout"))


def pytest_enter_pdb() -> None:
    """Who looks at a test in the debugger takes their time."""
    faulthandler.cancel_dump_traceback_later()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Why tests were skipped, and how many for each reason: who has no browser reads what was not tried."""
    skipped = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", []))
    if skipped:
        terminalreporter.section(f"{skipped.total()} skipped", bold=True)
        for reason, number in skipped.most_common():
            terminalreporter.line(f"{number:5} {reason}")


def _reason(report: pytest.TestReport) -> str:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One a core."""
    return os.cpu_count() or 1


class OneBrowser(LoadFileScheduling):
    """Gives a worker whole files, and all files with a browser to one: its servers are the only ones then."""

    def _split_scope(self, nodeid: str) -> str:
        return "browser" if nodeid.startswith("tests/browser/") else str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> OneBrowser:
    """All files with a browser in one worker."""
    return OneBrowser(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what runs on PostgreSQL or in a browser and is no journey, what asks a server, what is unsteady.

    Long files come first, so that no worker is left with one at the end, unless they are shuffled.
    """
    for item in items:
        case, fixtures = getattr(item, "callspec", None), getattr(item, "fixturenames", ())
        on_postgres = case is not None and case.params.get("kind") == "postgresql"
        marks = {mark.name for mark in item.iter_markers()}
        if on_postgres or "postgres" in fixtures or ("browser" in marks and "journey" not in marks):
            item.add_marker(pytest.mark.thorough)
        if "one_stage" in fixtures:
            item.add_marker(pytest.mark.slow)
        if cause := UNSTEADY.get(item.nodeid):
            item.add_marker(pytest.mark.xfail(reason=f"unsteady: {cause}", strict=False))
    if seed := config.getoption("shuffle"):
        items.sort(key=lambda item: random.Random(f"{seed}{item.path.name}").random())
        return
    tests = Counter(item.path for item in items)
    long = {item.path for item in items if _is_long({mark.name for mark in item.iter_markers()})}
    items.sort(key=lambda item: (item.path not in long, -tests[item.path], item.path))


def _is_long(marks: set[str]) -> bool:
    return "browser" in marks or marks >= {"slow", "thorough"}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file is not even imported where all of it has a mark that `-m "not (A or B)"` excludes."""
    excluded = set(re.findall(r"\w+", config.option.markexpr)) - {"not", "or"}
    if not config.option.markexpr.startswith("not ") or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text(encoding="utf-8")
    whole = _WHOLE.search(text)
    marks = set() if whole is None else set(re.findall(r"mark\.(\w+)", whole[0]))
    if "browser" in marks and "mark.journey" not in text:
        marks.add("thorough")
    return True if marks & excluded else None


def pytest_collection() -> None:
    """Nothing that is imported becomes garbage, so the collector waits until all is imported."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What was imported is never looked at again."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)  # as in the app
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("streamlit") and isinstance(logger, logging.Logger):
            logger.propagate = True  # else pytest listens to each of them by itself, with every test
