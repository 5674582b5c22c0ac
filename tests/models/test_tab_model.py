"""What two tabs do with one session: undo and redo as two stacks do, and nothing that a tab wrote is lost."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from shutil import copyfile

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from conductor.errors import EditConflict
from conductor.planner.rule_planner import OfflineConductor
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.history import history
from storage import Revision, SessionStore
from studio.workbench import Workbench
from studio.workbench.editing import EditEnd
from tests.models import marked_steps as model
from tests.models.marked_steps import Change, Plan, plan_of, workflow_of
from tests.support.cases.property_cases import cases
from tests.support.stores.session_files import exported, imported

TABS, QUESTIONS = st.sampled_from([0, 1]), count()


@dataclass
class Tab:
    """The revision that a tab shows, and those that it made."""

    view: str
    own: set[str] = field(default_factory=set)


class Tabs(RuleBasedStateMachine):
    """Two tabs on one session. `back` are the revisions from the root to the head, `forward` those undone."""

    def __init__(self, bench: Workbench) -> None:
        super().__init__()
        self.bench, self.store, self.fresh = bench, bench.store.revisions, count(100)

    @initialize(plan=model.plans())
    def open(self, plan: Plan) -> None:
        """Both tabs show the first revision."""
        self.session = self.bench.ask(f"Question {next(QUESTIONS)}").id
        first = self.bench.editing.edit(self.session, workflow_of(plan), note="First").id
        self.revisions: dict[str, tuple[str | None, Plan]] = {first: (None, plan)}
        self.back, self.forward, self.tabs = [first], list[str](), [Tab(first), Tab(first)]

    @rule(at=TABS)
    def look(self, at: int) -> None:
        """The tab is drawn again."""
        self.tabs[at].view = self.back[-1]

    @rule(at=TABS, choice=model.choices(), leads=st.booleans())
    def edit(self, at: int, choice: tuple[str, int, int, int], leads: bool) -> None:
        """An edit of what the tab shows; after a conflict it is a branch, and the head if it `leads`."""
        tab = self.tabs[at]
        _, target = Change(*choice, fresh=next(self.fresh)).of(self.revisions[tab.view][1])
        if target is not None:
            self._commit(tab, target, leads=leads)

    @rule(at=TABS, which=st.integers(0, 9))
    def restore(self, at: int, which: int) -> None:
        """An earlier revision is the current one again."""
        id = list(self.revisions)[which % len(self.revisions)]
        self._commit(self.tabs[at], self.revisions[id][1], restores=id)

    def _commit(self, tab: Tab, plan: Plan, *, leads: bool = False, restores: str | None = None) -> None:
        head = self.back[-1]
        end, revision = self.bench.editing.edit_over_own(
            self.session,
            workflow_of(plan),
            note="",
            head=self.store.find(tab.view),
            is_own=tab.own.__contains__,
            restores=restores,
        )
        assert end is EditEnd.APPLIED or head != tab.view
        assert end is EditEnd.CONFLICT or head in (tab.view, *tab.own)
        if end is EditEnd.CONFLICT:
            branch = self.bench.editing.keep_branch(
                self.session,
                workflow_of(plan),
                note="",
                edited=self.store.find(tab.view),
                instead_of=head if leads else None,
            )
            self.revisions[branch.id] = (tab.view, plan)
            if leads:
                self._lead(tab, branch, self._way(tab.view))
            tab.view = self.back[-1]
        elif revision.id not in self.revisions:
            assert plan_of(revision.workflow) == plan or not (head == tab.view or restores)
            self._lead(tab, revision, self.back)

    def _lead(self, tab: Tab, revision: Revision, under: list[str]) -> None:
        """A new revision is the head, after those of `under`."""
        self.revisions[revision.id] = (under[-1], plan_of(revision.workflow))
        self.back, self.forward, tab.view = [*under, revision.id], [], revision.id
        tab.own.add(revision.id)

    def _way(self, id: str | None) -> list[str]:
        return [] if id is None else [*self._way(self.revisions[id][0]), id]

    @rule(at=TABS, back=st.booleans())
    def move(self, at: int, back: bool) -> None:
        """Undo or redo, refused where the tab does not show the head."""
        tab, step = self.tabs[at], self.store.undo if back else self.store.redo
        if tab.view != self.back[-1]:
            with pytest.raises(EditConflict):
                step(self.session, expected=tab.view)
            tab.view = self.back[-1]
            return
        step(self.session, expected=tab.view)
        if back and len(self.back) > 1:
            self.forward.append(self.back.pop())
        elif not back and self.forward:
            self.back.append(self.forward.pop())
        tab.view = self.back[-1]

    @rule()
    def undo_all_and_redo(self) -> None:
        """Undo to the root and redo as often."""
        undone = [self.store.undo(self.session).id for _ in self.back[1:]]
        assert undone == self.back[-2::-1]
        assert [self.store.redo(self.session).id for _ in undone] == self.back[1:]

    @invariant()
    def the_head_and_its_neighbours_are_those_of_the_stacks(self) -> None:
        """As the buttons show them."""
        neighbours = [each and each.id for each in self.store.neighbours(self.session)]
        assert neighbours == [(None, *self.back[:-1])[-1], (None, *self.forward)[-1]]
        assert self.bench.store.sessions.find(self.session).head == self.back[-1]

    def teardown(self) -> None:
        """Every revision is as it was made, in the session's file, too; the history follows the stacks."""
        stored = {it.id: (it.parent, plan_of(it.workflow)) for it in self.store.of_session(self.session)}
        assert list(stored.items()) == list(self.revisions.items())
        parents = {id: parent for id, (parent, _) in stored.items()}
        rows = history(parents, self.back[-1], self.store.redo_targets(self.session))
        assert {row.id for row in rows if row.current} == {*self.back}
        assert {row.id for row in rows if row.lane == 0} == {*self.back, *self.forward}
        file = exported(self.bench.store, self.session)
        copy = imported(self.bench.store, file).id
        again = exported(self.bench.store, copy)
        assert _numbered(again) == _numbered(file)


def _numbered(file: bytes) -> str:
    """The file with a number for each id, without what an import sets: time and title."""
    ids: dict[str, str] = {}
    text = re.sub(r'"(title|updated_at)":[^,]*,', "", file.decode())
    return re.sub(r'"[0-9a-f]{16}"', lambda id: ids.setdefault(id[0], str(len(ids))), text)


@model.short_and_long(100, 500)
def test_two_tabs_undo_and_redo_as_stacks_do_and_lose_nothing(
    number: int, tmp_path: Path, empty_store: Path
) -> None:
    store = SessionStore.open(f"sqlite:///{copyfile(empty_store, tmp_path / 'conductor.db')}")
    pool = Pool(workers=tuple(SimulatedWorker(name=name) for name in model.WORKERS))
    bench = Workbench.over(store, pool=pool, conductor=OfflineConductor())
    try:
        run_state_machine_as_test(lambda: Tabs(bench), settings=cases(number, stateful_step_count=15))
    finally:
        bench.close()
