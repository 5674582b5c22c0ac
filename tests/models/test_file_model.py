"""Differences, files and lists against marked steps: what is compared, taken in part, written and listed."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from shutil import copyfile

from hypothesis import given
from hypothesis import strategies as st

from conductor.errors import WorkflowError
from conductor.workflow.diff import PlanDiff, plan_diff
from conductor.workflow.file import read_plan, write_plan
from conductor.workflow.selection import take_rows
from storage import SessionFilter, SessionStore
from tests.models import marked_steps as model
from tests.models.marked_steps import FIELDS, Change, Plan, marks, numbers_of, plan_of
from tests.support.cases.property_cases import cases


@model.short_and_long(200, 5000)
def test_a_difference_names_all_that_differs_and_no_more(number: int) -> None:
    @cases(number)
    @given(plan=model.plans(), before=model.BEFORE, edits=model.MINE, rows=st.sets(st.integers(0, 9)))
    def check(plan: Plan, before: list[Change], edits: list[Change], rows: set[int]) -> None:
        old = model.last(model.workflow_of(plan), before)
        diff = plan_diff(old, model.last(old, edits))
        _check_diff(diff)
        assert plan_diff(diff.new, old) == diff.swapped
        every = {*range(len(diff.rows))}
        assert (take_rows(diff, ()), take_rows(diff, every)) == (diff.old, diff.new)
        _check_selection(diff, rows & every)

    check()


def _check_diff(diff: PlanDiff) -> None:
    old, new = plan_of(diff.old), plan_of(diff.new)
    assert {old[at].mark for at in diff.removed} == {*marks(old)} - {*marks(new)}
    assert {new[at].mark for at in diff.added} == {*marks(new)} - {*marks(old)}
    for pair in diff.pairs:
        before, after = old[pair.old], new[pair.new]
        assert before.mark == after.mark
        differs = {name for name in FIELDS if getattr(before, name) != getattr(after, name)}
        differs |= {"access"} if before.reads != after.reads else set()
        assert {*pair.changes} - {"moved"} == differs
        assert {old[at].mark for at in pair.lost} == before.reads - after.reads
        assert {new[at].mark for at in pair.gained} == after.reads - before.reads
    stayed = [pair.old for pair in diff.pairs if "moved" not in pair.changes]
    assert stayed == sorted(stayed)
    lengths: list[int] = []
    places = [pair.old for pair in diff.pairs]
    for place in places:
        shorter = [length for length, other in zip(lengths, places, strict=False) if other < place]
        lengths.append(1 + max(shorter, default=0))
    assert len(stayed) == max(lengths, default=0), "more steps moved than had to"


def _by_windows(store: SessionStore, filter: SessionFilter, most: int) -> list[str]:
    """The ids of all windows of so many sessions, one after another."""
    ids: list[str] = []
    window = store.sessions.window(filter, most=most)
    ids += window.ids
    while window.further is not None:
        window = store.sessions.window(filter, most=most, after=window.further)
        ids += window.ids
    return ids


def _check_selection(diff: PlanDiff, rows: set[int]) -> None:
    """The rows that are taken have the new steps, the others the old ones, or it is refused for a reason."""
    old, new = plan_of(diff.old), plan_of(diff.new)
    sides = [(new, after) if row in rows else (old, before) for row, (before, after) in enumerate(diff.rows)]
    target = {plan[at].mark: plan[at] for plan, at in sides if at is not None}
    try:
        selection = take_rows(diff, rows)
    except WorkflowError:
        whole = all(step.reads <= target.keys() for step in target.values())
        assert not target or not whole or any("moved" in pair.changes for pair in diff.pairs)
    else:
        assert {step.mark: step for step in plan_of(selection)} == target
        numbers = numbers_of(diff.old) | numbers_of(diff.new)
        assert numbers_of(selection).items() <= numbers.items(), "a step is another one"


@model.short_and_long(100, 2000)
def test_a_workflow_file_reads_back_and_is_written_again_byte_for_byte(number: int) -> None:
    @cases(number)
    @given(plan=model.plans(), edits=model.ANY, query=st.none() | st.text(), label=st.none() | st.text())
    def check(plan: Plan, edits: list[Change], query: str | None, label: str | None) -> None:
        workflow = model.last(model.workflow_of(plan), edits)
        text = write_plan(workflow, query=query, origin="conductor", workers=model.WORKERS, label=label)
        read = read_plan(text.encode())
        assert plan_of(read.workflow) == plan_of(workflow)
        pool = {"workers": read.pool.workers, "label": read.pool.label}
        assert write_plan(read.workflow, query=read.query, origin=read.origin, **pool) == text

    check()


@model.short_and_long(30, 400)
def test_sessions_are_listed_by_their_last_change(number: int, tmp_path: Path, empty_store: Path) -> None:
    now, tags = [1.0], count()
    url = f"sqlite:///{copyfile(empty_store, tmp_path / 'conductor.db')}"
    act = st.sampled_from(["create", "edit", "rename", "delete", "restore", "wait"])

    @cases(number)
    @given(acts=st.lists(st.tuples(act, st.integers(0, 9)), max_size=20), page=st.integers(1, 4))
    def check(acts: list[tuple[str, int]], page: int) -> None:
        tag, changed, deleted = f"case {next(tags)}", dict[str, float](), set[str]()
        for act, which in [("create", 0), *acts]:
            id = [*changed, ""][which % max(1, len(changed))]
            match act:
                case "create":
                    id = store.sessions.create("Why?").id
                    store.sessions.add_tag(id, tag)
                    changed[id] = now[0]
                case "edit":
                    store.revisions.add(id, edit, origin="human")
                    changed[id] = now[0]
                case "rename":
                    store.sessions.rename(id, f"title {which}")
                case "delete":
                    store.sessions.delete(id)
                    deleted.add(id)
                case "restore":
                    store.sessions.restore(id)
                    deleted.discard(id)
                case "wait":
                    now[0] += 1
        for gone in (False, True):
            filter = SessionFilter(tags=(tag,), deleted=gone)
            there = [id for id in changed if (id in deleted) == gone]
            target = sorted(there, key=lambda id: (changed[id], id), reverse=True)
            assert _by_windows(store, filter, page) == target
            assert (store.sessions.ids(filter), store.sessions.count(filter)) == (tuple(target), len(target))

    edit = model.workflow_of((model.Marked(0, "Look.", "alpha"),))
    with SessionStore.open(url, clock=lambda: now[0]) as store:
        check()
