"""Whatever an upstream reports, every door shows it: exact figures are equal, lower bounds are not above,
upper bounds not below, and nothing is unknown without a reason.

The upstream's log is the oracle: no figure of the product is compared with another one of the product.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from conductor.workers.endpoint.transport import timing
from tests.accounting.accounting_cases import Door, cases_by
from tests.accounting.books import Books, opened
from tests.accounting.doors import DOORS
from tests.accounting.known_faults import check
from tests.accounting.reporting_upstream import ReportingUpstream
from tests.support.cases.property_cases import cases
from tests.support.endpoints.fake_openai import serving


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory, empty_store: Path) -> Iterator[Books]:
    """One upstream, one store and one server for all cases."""
    file = shutil.copyfile(empty_store, tmp_path_factory.mktemp("accounts") / "conductor.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "_backoff", lambda _: 0.0)
        with serving(ReportingUpstream()) as served, opened(f"sqlite:///{file}", served) as books:  # type: ignore[arg-type]
            yield books


PHASES = [Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink]


@pytest.mark.slow
@pytest.mark.parametrize("door", get_args(Door))
@given(data=st.data())
@cases(25, phases=PHASES)
def test_every_door_shows_what_the_upstream_reported(books: Books, door: Door, data: st.DataObject) -> None:
    check(books, books.played(data.draw(cases_by(door))), DOORS)


@pytest.mark.thorough
@pytest.mark.parametrize("door", get_args(Door))
@given(data=st.data())
@cases(1_250, phases=PHASES)
def test_every_door_shows_it_in_thousands_of_cases(books: Books, door: Door, data: st.DataObject) -> None:
    check(books, books.played(data.draw(cases_by(door))), DOORS)
