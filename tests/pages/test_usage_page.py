"""The usage page: what was used in a period, by what one chooses, and nothing where nothing was asked."""

from __future__ import annotations

import json

import pytest

from conductor.runs.request import Asker
from conductor.values.charge import Charge
from conductor.values.messages import Usage
from conductor.values.output import WorkerKind
from storage import SessionStore
from storage.tables import ledger

DAY = 86_400.0


def charge(worker: str, tokens: int | None, *, kind: WorkerKind = "model") -> Charge:
    usage = Usage(prompt_tokens=tokens, completion_tokens=0, cost=None if tokens is None else 0.5)
    return Charge(worker=worker, kind=kind, purpose="step", usage=usage)


@pytest.fixture
def used(url: str) -> str:
    """A store with requests of today and of 40 days ago; the id of their session."""
    with SessionStore.open(url) as store:
        session = store.sessions.create("Why?").id
        store.ledger.add(
            [charge("big", 1200), charge("small", None)], session=session, by=Asker(person="Ada")
        )
        store.ledger.add([charge("mock", 7, kind="simulated")], session=session)
        now = store._transactions.clock() - 40 * DAY
        store._transactions.write(ledger.add, now, [charge("big", 5000)], session="gone")
    return session


def html(page) -> str:
    return " ".join(element.proto.body for element in page.get("html"))


def bars(page) -> list[tuple[str, float]]:
    [chart] = page.get("arrow_vega_lite_chart") or page.get("vega_lite_chart")
    values = json.loads(chart.proto.spec)["layer"][0]["data"]["values"]
    return [(value["worker"], value["value"]) for value in values]


def captions(page) -> str:
    return " ".join(caption.value for caption in page.caption)


def test_an_empty_store_states_what_will_be_here(app):
    page = app("usage")
    assert not page.exception
    assert "No requests yet" in captions(page)
    assert not page.get("segmented_control")


def test_bars_and_sums_are_of_the_period(app, used):
    page = app("usage")
    assert not page.exception
    assert bars(page) == [("big", 1200), ("small", 0)]
    assert "at least</small> 1,200" in html(page)
    assert "mock" in html(page)
    assert "(simulated)" in html(page)
    page.segmented_control(key="usage-period").set_value(0).run()
    assert sorted(value for _, value in bars(page)) == [0, 1200, 5000]
    assert "at least</small> 6,200" in html(page)
    page.segmented_control(key="usage-amount").set_value("dollars").run()
    assert sorted(value for _, value in bars(page)) == [0, 0.5, 0.5]


@pytest.mark.parametrize(
    ("by", "row"),
    [("worker", "<bdi>small</bdi>"), ("person", "<bdi>Ada</bdi>"), ("token", "<bdi>without a token</bdi>")],
)
def test_a_row_is_what_one_chooses(app, used, by, row):
    page = app("usage")
    page.segmented_control(key="usage-by").set_value(by).run()
    assert not page.exception
    assert row in html(page)
    assert "at least 1,200" in html(page)


def test_a_row_leads_to_its_session(app, used):
    page = app("usage")
    page.segmented_control(key="usage-by").set_value("session").run()
    assert f'href="./?session={used}"' in html(page)
    page.segmented_control(key="usage-period").set_value(0).run()
    assert "gone</bdi> <span" in html(page)


def test_only_simulated_workers_have_no_bars(app, url):
    with SessionStore.open(url) as store:
        store.ledger.add([charge("mock", 7, kind="simulated")])
    page = app("usage")
    assert "Simulated workers use nothing" in captions(page)
    assert "(simulated)" in html(page)


def test_the_pool_may_be_unreadable(app, used, tmp_path, monkeypatch):
    file = tmp_path / "pool.toml"
    file.write_text("[[worker", encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(file))
    page = app("usage")
    assert not page.exception
    assert bars(page) == [("big", 1200), ("small", 0)]


def test_what_today_used_leads_here_from_the_workbench(app, used):
    page = app("workbench")
    [link] = [each for each in page.sidebar.get("page_link") if "Today" in each.proto.label]
    assert "at least 1,200 tokens" in link.proto.label
    assert link.proto.page == "usage"
