"""A run whose process is killed, and that another one resumes, is a lower bound of what was reported.

The figures are compared as those of `test_accounts`, after the resumption.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from accounting_cases import Case, cases_by
from books import Played, opened
from doors import STORED
from fake_openai import Served, serving
from first_run import work
from hypothesis import Phase, given
from hypothesis import strategies as st
from known_faults import check
from property_cases import cases
from reporting_upstream import ReportingUpstream
from waiting import until

from conductor.errors import ConductorError
from tests.faults.victim import killed

pytestmark = [pytest.mark.slow, pytest.mark.thorough]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """One upstream for all cases."""
    with serving(ReportingUpstream()) as served:  # type: ignore[arg-type]
        yield served


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One store for all cases."""
    return f"sqlite:///{tmp_path_factory.mktemp('killed')}/conductor.db"


@given(case=cases_by("workbench", stops=True), after=st.floats(0.3, 0.9))
@cases(40, phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_a_run_that_was_killed_and_resumed_shows_at_least_what_was_reported(
    served: Served, url: str, case: Case, after: float
) -> None:
    upstream: ReportingUpstream = served.fake  # type: ignore[assignment]
    upstream.begin(case.script)
    moment = time.time()
    lines = killed(work, url, served.base_url, case, after=after)
    upstream.end_stalls()
    until(lambda: all(each.outcome for each in upstream.sent), every=0.001)
    session = next((line["session"] for line in lines if "session" in line), None)
    with opened(url, served) as books:
        counters = books.counters()
        played = Played(case, moment, counters, session, is_broken_off=True, after=counters)
        if session is not None:
            # Of a process that died before it had a plan there is nothing to resume.
            with suppress(ConductorError):
                books.bench.running.start(session)
                books.bench.activities.wait(session)
        played.sent = upstream.sent
        check(books, played, STORED)
