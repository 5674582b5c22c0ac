"""*Keep as a test*: what the form proposes, stores, refuses and deletes."""

from __future__ import annotations

import pytest

from studio.evaluation.team_tests import TeamTests


@pytest.fixture
def ran(bench, session):
    """The session after a run, and that run's id."""
    assert bench.running.start(session).done.wait(60)
    return session, bench.store.runs.latest(session).id


def opened(app, session, run):
    page = app(session=session)
    page.session_state[f"keep-test-{run}"] = True
    return page.run()


def keep(page, run, **fields):
    for name, value in fields.items():
        kind = "text_area" if name == "accepted" else "selectbox"
        getattr(page, kind)(key=f"keep-test-{run}-{name}").set_value(value)
    return page.button(key=f"keep-test-{run}-keep").click().run()


def test_there_is_nothing_to_keep_before_a_run(app, session):
    page = app(session=session).run()
    assert not page.exception
    assert not [each for each in page.get("popover") if "as a test" in each.proto.popover.label]


@pytest.mark.thorough
def test_the_answer_is_proposed_and_kept_with_its_check_and_set(app, bench, ran):
    session, run = ran
    page = opened(app, session, run)
    assert not page.exception
    answer = bench.store.runs.find(run).answer
    assert page.text_area(key=f"keep-test-{run}-accepted").value == answer.strip()
    page = keep(page, run, accepted="It is x^2", check="judge")
    assert not page.exception
    (test,) = bench.store.tests.of_set("team")
    assert (test.question, test.accepted, test.scorer) == (
        bench.store.sessions.find(session).query,
        "It is x^2",
        "judge",
    )
    assert (test.origin, test.origin_run) == (session, run)
    assert "Kept in the set team; evaluations can use it\\." in [each.value for each in page.info]
    page = opened(app, session, run)
    assert page.selectbox(key=f"keep-test-{run}-set").options == []
    page.button(key=f"keep-test-delete-{test.id}").click().run()
    assert bench.store.tests.sets() == {}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"accepted": "  "}, "is empty"),
        ({"accepted": "several", "check": "number"}, "by the check 'number'"),
        ({"accepted": "(((", "check": "mathematics"}, "cannot be read as mathematics"),
    ],
)
def test_what_cannot_be_a_test_is_refused_and_the_fields_stay(app, bench, ran, fields, reason):
    session, run = ran
    page = keep(opened(app, session, run), run, **fields)
    assert not page.exception
    assert reason in page.error[0].value.replace("\\", "")
    assert bench.store.tests.sets() == {}
    for name, value in fields.items():
        assert page.session_state[f"keep-test-{run}-{name}"] == value


def test_a_question_that_was_kept_in_another_tab_meanwhile_is_refused(app, bench, ran):
    session, run = ran
    page = opened(app, session, run)
    test = TeamTests(bench.store).keep(session, accepted="first")
    page = keep(page, run, accepted="second")
    assert not page.exception
    assert "has this question already" in page.error[0].value
    assert bench.store.tests.of_set("team") == (test,)
