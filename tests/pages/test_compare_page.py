"""The compare page's wiring: its address names what is compared, and what is compared is on it."""

from __future__ import annotations

import pytest

from conductor.values.output import HandEdit
from conductor.workflow.model import Step
from pages.components.tab import services
from pages.components.tab.state import plain


@pytest.fixture
def opened(app):
    """Opens the compare page at an address: `opened(left="run:1", right="run:2")`, drawn once."""

    def at(**address):
        page = app("workbench")
        page.switch_page("pages/compare.py")
        for name, value in address.items():
            page.query_params[name] = value
        return page.run()

    return at


@pytest.fixture
def two_runs(bench, session):
    """Two runs of a session; for the second one a step was added and another one reworded."""
    runs = [bench.running.start(session).run]
    bench.activities.wait(session)
    head = bench.store.revisions.head(session)
    more = head.workflow.with_instruction(0, "Find it again, please.")
    more = more.add_step(Step(instruction="Sketch the whole thing on paper", worker="beta"), at=1)
    bench.editing.edit(session, more, note="More", head=head)
    runs.append(bench.running.start(session).run)
    bench.activities.wait(session)
    return tuple(f"run:{run}" for run in runs)


def texts(page):
    """All words that the page shows in Markdown and captions."""
    return [element.value for element in (*page.markdown, *page.caption)]


def rows(page):
    return [box.label for box in page.expander]


def test_an_empty_store_states_what_to_do(opened):
    page = opened()
    assert not page.exception
    assert any(text.startswith("Nothing to compare yet.") for text in texts(page))
    assert page.segmented_control(key="compare-mode").disabled


def test_two_runs_are_compared_by_their_address(opened, two_runs):
    left, right = two_runs
    page = opened(left=left, right=right)
    assert not page.exception
    assert not page.error
    assert page.selectbox(key="compare-left").value == left
    assert page.selectbox(key="compare-right").value == right
    assert rows(page) == [
        plain("1. Find it again · instruction, output"),
        plain("2. Sketch the whole thing · added"),
        plain("3 → 4. Answer · output"),
    ]
    assert plain("Plan: 1 step changed, 1 step added; 2 steps the same.") in texts(page)[2]
    assert "1 unchanged step is not listed." in texts(page)


@pytest.mark.parametrize(
    ("answers", "first"),
    [(("A red house", "A blue house"), "Changes"), (("Yes", "Certainly"), "Side by side")],
)
def test_answers_with_nothing_in_common_stand_side_by_side_at_first(opened, bench, session, answers, first):
    head = bench.store.revisions.head(session)
    addresses = []
    for text in answers:
        final = head.workflow.final
        written = bench.running.unwritten(session, final).by_hand(text, edit=HandEdit(at=1.0))
        head = bench.editing.edit(session, head.workflow.with_pin(final, written), note="Written", head=head)
        addresses.append(f"run:{bench.running.start(session).run}")
        bench.activities.wait(session)
    page = opened(left=addresses[0], right=addresses[1])
    assert [control.value for control in page.segmented_control if control.label == "Show answers as"] == [
        first
    ]


def test_all_steps_are_listed_on_demand(opened, two_runs):
    page = opened(left=two_runs[0], right=two_runs[1])
    page.toggle(key="compare-all").set_value(True).run()
    assert len(rows(page)) == 4
    assert rows(page)[2] == plain("2 → 3. Look again · the same")


def test_without_an_address_the_last_two_runs_of_the_newest_session_are_compared(opened, two_runs):
    page = opened()
    assert (page.query_params["left"], page.query_params["right"]) == two_runs


def test_the_session_opened_last_comes_before_a_newer_one(app, bench, two_runs):
    newer = bench.ask("Another one?").id
    workflow = bench.store.revisions.head(bench.store.runs.find(two_runs[0][4:]).session).workflow
    bench.editing.edit(newer, workflow, note="One")
    bench.editing.edit(
        newer, workflow.with_worker(0, "beta"), note="Two", head=bench.store.revisions.head(newer)
    )
    page = app("workbench", bench.store.runs.find(two_runs[0][4:]).session)
    page.query_params.clear()  # as a browser does on the way to another page
    page.switch_page("pages/compare.py").run()
    assert (page.query_params["left"], page.query_params["right"]) == two_runs


def test_an_address_of_nothing_states_it_and_leaves_the_other_side(opened, two_runs):
    page = opened(left="run:gone", right=two_runs[1])
    assert page.error[0].value.startswith("The left side")
    assert page.selectbox(key="compare-left-session").value is None
    assert page.selectbox(key="compare-right").value == two_runs[1]
    assert any("Choose a run or a revision on each side" in text for text in texts(page))


def test_a_session_with_nothing_before_is_chosen_by_hand(opened, bench, session):
    page = opened()
    head = bench.store.revisions.head(session)
    assert any("Choose a run or a revision on each side" in text for text in texts(page))
    page.selectbox(key="compare-left-session").select(session).run()
    page.selectbox(key="compare-right-session").select(session).run()
    assert page.query_params["left"] == page.query_params["right"] == f"revision:{head.id}"
    assert any(text.startswith("The plans are the same") for text in texts(page))


def test_another_choice_is_another_address(opened, two_runs, bench):
    page = opened(left=two_runs[0], right=two_runs[1])
    head = bench.store.revisions.head(bench.store.runs.find(two_runs[0][4:]).session)
    page.selectbox(key="compare-left").select(f"revision:{head.id}").run()
    assert page.query_params["left"] == f"revision:{head.id}"
    assert any(text.startswith("The plans are the same") for text in texts(page))
    assert any(plain("has no answer: not run.") in text for text in texts(page))


def test_the_sides_are_exchanged(opened, two_runs):
    page = opened(left=two_runs[0], right=two_runs[1])
    page.button(key="compare-swap").click().run()
    assert (page.query_params["left"], page.query_params["right"]) == two_runs[::-1]
    assert plain("2. Sketch the whole thing · removed") in rows(page)


def test_three_ways_of_a_session_are_another_address_and_the_way_back(opened, two_runs, bench):
    page = opened(left=two_runs[0], right=two_runs[1])
    page.segmented_control(key="compare-mode").set_value("three").run()
    assert page.query_params["session"] == bench.store.runs.find(two_runs[0][4:]).session
    assert "left" not in page.query_params
    assert any("Run as it is now" in text for text in texts(page))
    page.segmented_control(key="compare-mode").set_value("two").run()
    assert (page.query_params["left"], page.query_params["right"]) == two_runs


def test_an_unknown_session_has_no_three_ways_and_another_can_be_chosen(opened, session):
    page = opened(session="gone")
    assert page.error
    page.selectbox(key="compare-session").select(session).run()
    assert page.query_params["session"] == session
    assert not page.error


def test_a_session_without_a_workflow_leads_to_the_workbench(opened, bench):
    page = opened(session=bench.ask("Not planned").id)
    assert not page.exception
    assert any("no workflow yet" in text for text in texts(page))


def test_the_workbench_leads_to_the_comparison_where_there_is_a_before(app, bench, session):
    def links(page):
        return [link for link in page.get("page_link") if link.proto.label == "Compare"]

    assert not links(app("workbench", session))
    head = bench.store.revisions.head(session)
    newer = bench.editing.edit(session, head.workflow.with_worker(0, "beta"), note="Other", head=head)
    anchors = links(app("workbench", session))
    assert len(anchors) == 1
    query = str(anchors[0].proto)
    assert head.id in query
    assert newer.id in query


def test_a_pool_that_cannot_be_read_keeps_no_one_from_comparing(opened, two_runs, monkeypatch, tmp_path):
    broken = tmp_path / "pool.toml"
    broken.write_text("not a pool", encoding="utf-8")
    services.close()
    monkeypatch.setenv("CONDUCTOR_POOL", str(broken))
    page = opened(left=two_runs[0], right=two_runs[1])
    assert not page.exception
    assert len(rows(page)) == 3


def test_only_sessions_that_have_a_workflow_are_offered(opened, bench, two_runs):
    bench.ask("Not planned")
    page = opened(left=two_runs[0], right=two_runs[1])
    (offered,) = page.selectbox(key="compare-left-session").options
    assert offered.endswith(" · Which one?")
