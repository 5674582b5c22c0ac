"""Other plans on the workbench: those in one text, alternatives asked for at once; thumbs at an answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import dataclass, field

import pytest

from conductor.baselines.fitted import WorkerResult, write_fitted
from conductor.baselines.named import planner_named
from conductor.errors import WorkerError
from conductor.planner.conductor import PlanRequest
from conductor.values.messages import Completion, Delta
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from pages.components.tab import services
from pages.components.tab.state import plain
from storage import SessionStore
from studio.sessions.notes import AUTHOR
from studio.workbench import Workbench
from tests.support.runs.conductor_cases import BROKEN, ScriptedConductor, plan_text
from tests.support.runs.used_by import used_by
from tests.support.runs.waiting import until, until_async

pytestmark = pytest.mark.thorough

ONE = plan_text((0, "Find it.", "[]"), (1, "Answer.", "[0]"))
TWO = plan_text((1, "Find it.", "[]"), (1, "Answer.", "[0]"))
BAD = plan_text((9, "Find it.", "[]"))


@dataclass
class HeldConductor(ScriptedConductor):
    """Writes its texts, "" meaning that it fails, once it is released."""

    released: threading.Event = field(default_factory=threading.Event)

    async def stream(self, request: PlanRequest) -> AsyncIterator[Delta | Completion]:
        text = self.texts[min(len(self.requests), len(self.texts) - 1)]
        self.requests.append(request)
        yield Delta(text=text[:9])
        await until_async(self.released.is_set)
        if not text:
            raise WorkerError("The Conductor is overloaded; ask again.")
        yield Delta(text=text[9:])
        yield Completion(text=text, usage=self.usage)


@pytest.fixture
def held() -> HeldConductor:
    """A Conductor that answers at once unless a test holds it."""
    conductor = HeldConductor(texts=[ONE])
    conductor.released.set()
    return conductor


@pytest.fixture
def bench(url, held, monkeypatch) -> Iterator[Workbench]:
    """The workbench under the app."""
    pool = Pool(workers=tuple(SimulatedWorker(name=name, tokens=4) for name in ("alpha", "beta")))
    bench = Workbench.over(SessionStore.open(url), pool=pool, conductor=held)
    monkeypatch.setattr(services, "workbench", lambda: bench)
    yield bench
    held.released.set()
    bench.close()


def texts(elements):
    return [element.value for element in elements]


def opened(bench, app, *texts_):
    """A session whose Conductor has written the first of these texts, with its plans open in the drawer."""
    bench.conductor.texts = list(texts_)
    session = bench.ask("Which one?").id
    bench.planning.begin(session)
    bench.activities.wait(session)
    page = app(session=session)
    page.session_state["panel"] = "Plans"
    return page.run(), session


def buttons(page, label):
    return [button for button in page.button if button.label == label]


def test_every_plan_of_a_text_is_listed_and_another_one_can_be_used(app, bench):
    page, session = opened(bench, app, f"First:\n{ONE}\nBetter:\n{TWO}\nOr:\n{BAD}")
    assert not page.exception
    assert any(option.endswith("Plans (2)") for option in page.segmented_control(key="panel").options)
    assert "3 complete plans in the Conductor's text." in texts(page.caption)
    names = [value for value in texts(page.markdown) if value.startswith("**Plan")]
    assert names == ["**Plan 1**", "**Plan 2**", "**Plan 3**"]
    assert any("used as the last valid one" in line for line in texts(page.caption))
    assert any("1 step changed; 1 step the same" in line for line in texts(page.caption))
    first, second = buttons(page, "Use")
    assert (first.disabled, second.disabled) == (False, True)
    before = bench.store.revisions.head(session)
    first.click().run()
    head = bench.store.revisions.head(session)
    assert (head.origin, head.note, head.parent) == ("conductor", "Used plan 1 of the text", before.id)
    assert head.workflow.steps[0].worker == "alpha"
    assert [button.disabled for button in buttons(page.run(), "Use")] == [True, False]
    page.button(key="undo").click().run()
    assert bench.store.revisions.head(session) == before


def test_a_question_can_be_planned_by_a_published_method(app, bench):
    page, session = opened(bench, app, ONE)
    before = bench.store.revisions.head(session)
    page.session_state["settings"] = True
    page.run()
    buttons(page, "Plan as Mixture-of-Agents")[0].click().run()
    bench.activities.wait(session)
    head = bench.store.revisions.head(session)
    assert [step.worker for step in head.workflow.steps] == ["alpha", "beta", "alpha", "beta", "alpha"]
    page.run()
    page.selectbox(key=f"plan-as-method-{session}").set_value("reflect").run()
    page.selectbox(key=f"plan-as-worker-{session}").set_value("beta").run()
    buttons(page, "Plan as Self-reflection")[0].click().run()
    bench.activities.wait(session)
    assert bench.store.revisions.head(session).workflow.workers() == ("beta",)
    assert bench.store.plans.latest(session).planner == "baseline:reflect:beta"
    assert not page.run().exception
    page.button(key="undo").click().run()
    page.button(key="undo").click().run()
    assert bench.store.revisions.head(session) == before


@pytest.mark.slow
def test_a_question_can_be_planned_by_what_a_method_has_learnt(url, app, bench, monkeypatch, tmp_path):
    rows = [
        WorkerResult(question=question, worker=name, right=name == "beta")
        for question in ("What is 1 + 1?", "What is 2 + 2?")
        for name in ("alpha", "beta")
    ]
    learnt = asyncio.run(planner_named("baseline:routerdc").fit(rows, cards=bench.pool.cards))
    write_fitted(learnt, tmp_path / "router.json")
    pool = Pool(workers=bench.pool.workers, fitted={"router": tmp_path / "router.json"})
    with closing(Workbench.over(SessionStore.open(url), pool=pool, conductor=bench.conductor)) as other:
        monkeypatch.setattr(services, "workbench", lambda: other)
        page, session = opened(other, app, ONE)
        page.session_state["settings"] = True
        page.run()
        page.selectbox(key=f"plan-as-method-{session}").set_value("routerdc").run()
        buttons(page, "Plan as RouterDC")[0].click().run()
        other.activities.wait(session)
        assert other.store.plans.latest(session).planner == "baseline:routerdc:fitted=router"
        assert other.store.revisions.head(session).workflow.workers() == ("beta",)


def test_a_plan_takes_the_place_of_what_was_changed_meanwhile_only_when_that_was_shown(app, bench):
    page, session = opened(bench, app, f"First:\n{ONE}\nBetter:\n{TWO}")
    theirs = bench.store.revisions.head(session).workflow.with_instruction(1, "Answer in one word.")
    used_by(bench, "Grace").editing.edit(session, theirs, note="Step 2: instruction")
    buttons(page, "Use")[0].click().run()
    assert bench.store.revisions.head(session).workflow == theirs
    message = "changed in the meantime (revision 2 by Grace: Step 2: instruction). You see it now"
    assert any(plain(message) in text for text in texts(page.info))
    buttons(page, "Use")[0].click().run()
    assert bench.store.revisions.head(session).note == "Used plan 1 of the text"


def test_a_plan_that_is_the_workflow_by_now_is_not_used_once_more(app, bench):
    page, session = opened(bench, app, f"First:\n{ONE}\nBetter:\n{TWO}")
    bench.planning.use_candidate(bench.store.plans.of_session(session)[0].id, 0)
    buttons(page, "Use")[0].click().run()
    assert (len(page.info), len(page.error)) == (0, 0)
    assert len(bench.store.revisions.of_session(session)) == 2


def test_a_plan_can_be_looked_at_and_closed(app, bench):
    page, _ = opened(bench, app, f"First:\n{ONE}\nOr:\n{BAD}")
    buttons(page, "Show")[1].click().run()
    assert not page.exception
    assert any("9" in text and text.startswith("- ") for text in texts(page.markdown))
    buttons(page, "Hide")[0].click().run()
    assert len(buttons(page, "Show")) == 2


def test_alternatives_are_asked_for_at_once_and_only_used_where_that_is_wanted(app, bench, held):
    page, session = opened(bench, app, ONE, TWO, ONE, "")
    before = bench.store.revisions.head(session)
    held.released.clear()
    buttons(page, "Ask for alternatives")[0].click().run()
    assert not page.exception
    live = bench.activities.live_alternatives(session)
    until(lambda: len(held.requests) == 4 or live.done)
    assert not live.done
    page.run()
    assert any("Alternative 3" in text for text in texts(page.caption))
    held.released.set()
    bench.activities.wait(session)
    page.run()
    assert bench.store.revisions.head(session) == before
    (summary,) = (text for text in texts(page.caption) if text.startswith("3 alternatives requested at once"))
    assert summary.endswith(plain("; 2 of them valid."))
    assert any("overloaded" in text for text in texts(page.caption))
    use = [button for button in buttons(page, "Use") if not button.disabled]
    use[0].click().run()
    head = bench.store.revisions.head(session)
    assert (head.note, head.workflow.steps[0].worker) == ("Used alternative 1", "beta")


def test_equal_alternatives_are_one_choice(app, bench):
    page, session = opened(bench, app, ONE)
    bench.planning.plan_alternatives(session, 4)
    page.run()
    held = "4 alternatives requested at once · 440 tokens · $2.00. All of them are the same plan."
    assert plain(held) in texts(page.caption)
    assert "**Alternatives 1, 2, 3 and 4**" in texts(page.markdown)
    assert buttons(page, "Use")[0].disabled


def test_without_a_valid_plan_an_alternative_can_be_the_first_workflow(app, bench):
    page, session = opened(bench, app, BROKEN, ONE, BROKEN)
    bench.planning.plan_alternatives(session, 2)
    page.run()
    assert bench.store.revisions.head(session) is None
    [use] = buttons(page, "Use")
    use.click().run()
    assert not page.exception
    head = bench.store.revisions.head(session)
    assert head is not None
    assert page.run().button(key="run").label == "Run"


def test_an_edit_of_an_alternative_still_shows_where_it_came_from(app, bench):
    page, session = opened(bench, app, ONE, f"Rather so.\n{TWO}")
    bench.planning.plan_alternatives(session, 2)
    [alternative, _] = bench.store.plans.alternatives(session)
    head = bench.planning.use_candidate(alternative.id, 0)
    bench.editing.edit(session, head.workflow.with_worker(1, "alpha"), note="Changed", head=head)
    [correction] = bench.store.corrections.read()
    assert correction.planned == head.workflow
    assert correction.plan == alternative.id
    assert not page.run().exception


def test_thumbs_are_kept_with_the_run_and_taken_back(app, bench, monkeypatch):
    page, session = opened(bench, app, ONE)
    bench.running.start(session)
    bench.activities.wait(session)
    page.run()
    assert "Is this answer good?" in texts(page.caption)
    run = bench.store.runs.of_session(session)[0].id
    [widget] = page.get("feedback")
    widget.set_value(1).run()
    assert bench.store.corrections.rating(run) == "up"
    assert "You rated this answer good." in texts(page.run().caption)
    # With a name, only what stands under it is one's own.
    monkeypatch.setenv(AUTHOR, "Ada")
    assert "A person rated this answer good." in texts(page.run().caption)
    bench.store.corrections.rate(run, "up", author="Ada")
    assert "You rated this answer good." in texts(page.run().caption)
    bench.store.corrections.rate(run, "up", author="Grace")
    assert "Grace rated this answer good." in texts(page.run().caption)
    page.get("feedback")[0].set_value(None).run()
    assert bench.store.corrections.rating(run) is None
