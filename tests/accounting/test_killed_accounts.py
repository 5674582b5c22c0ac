"""A run whose process is killed, and that another one resumes, is a lower bound of what was reported.

The figures are compared as those of `test_accounts`, after the resumption.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from conductor.errors import ConductorError
from tests.accounting.accounting_cases import Case, cases_by
from tests.accounting.books import Played, opened
from tests.accounting.doors import STORED
from tests.accounting.first_run import work
from tests.accounting.known_faults import check
from tests.accounting.reporting_upstream import ReportingUpstream
from tests.faults.victim import killed
from tests.support.cases.property_cases import cases
from tests.support.endpoints.fake_openai import Served, serving
from tests.support.runs.waiting import until

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
