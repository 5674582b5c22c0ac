"""The workbench: a person asks, plans, edits, runs, stops and tries variants of a session. The app, the
commands and the API all stand on this.

Knows the store and the core; knows no page and prints nothing. Every change is durable before a method
returns; a run's events are written behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NoReturn, cast

from conductor.errors import QueryError, ViewOnly, WorkflowError
from conductor.orchestration.runtime import Runtime, Runtimes
from conductor.planner.conductor import Conductor
from conductor.planner.planner import check_query
from conductor.runs.request import Asker
from conductor.values.conversation import MAX_CONVERSATION, Conversation
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from storage.records import Session, SessionOrigin
from storage.store import SessionStore
from studio.sessions.notes import Notes, author
from studio.sessions.person_limits import check_admits
from studio.sessions.runner import SessionRunner
from studio.telemetry.observer import Observer
from studio.workbench.attaching import Upload, attached
from studio.workbench.bench import Bench
from studio.workbench.changing import Changing
from studio.workbench.comparison.experiments import Experiments
from studio.workbench.comparison.racing import Racing
from studio.workbench.comparison.revision_tests import RevisionTests
from studio.workbench.editing import Editing
from studio.workbench.planning import Planning
from studio.workbench.resuming import Resuming
from studio.workbench.running import Running
from studio.workbench.used_today import UsedToday


class Workbench(Bench):
    """A store with what a person does in its sessions."""

    def __init__(
        self,
        store: SessionStore,
        runtimes: Runtimes,
        *,
        observers: Sequence[Observer] = (),
        person: Callable[[], str | None] = author,
    ) -> None:
        super().__init__(store, runtimes, observers=observers, person=person)
        self._add_parts()

    def _add_parts(self) -> None:
        self.planning = Planning(self)
        self.changing = Changing(self)
        self.editing = Editing(self)
        self.running = Running(self)
        self.resuming = Resuming(self, self.running)
        self.racing = Racing(self)
        self.experiments = Experiments(self, self.running)
        self.notes = Notes(self.store)
        self.tests = RevisionTests(self)
        self.used_today = UsedToday(self.store)

    def on(self, runtimes: Runtimes, *, by: Asker | None = None) -> Workbench:
        """The same store and activities with another pool and its Conductor, for the asker `by` (None: the
        same one); closed with this one.
        """
        other = copy(self)
        other._asker = by or self._asker
        other.runner = SessionRunner(self.store, self.background, self.activities, runtimes, self._observers)
        other._add_parts()
        return other

    @classmethod
    def over(cls, store: SessionStore, *, pool: Pool, conductor: Conductor, nests: bool = False) -> Workbench:
        """A workbench with this pool and Conductor; `nests`: the Conductor is one of the workers."""
        runtime = Runtime(workers=pool, conductor=conductor, nests=nests)
        return cls(store, lambda: runtime)

    def ask(
        self,
        query: str,
        *,
        settings: Settings | None = None,
        origin: SessionOrigin = "app",
        conversation: Conversation | None = None,
    ) -> Session:
        """A new session for a query and the messages before it. Raises `QueryError` when the query is empty,
        or one of them is too long, and `LimitReached` where limits of who asks allow no plan now.
        """
        check_admits(self.store, self.asker)
        if conversation is not None and conversation.characters > MAX_CONVERSATION:
            raise QueryError(
                f"The conversation has {conversation.characters:,} characters; the limit is "
                f"{MAX_CONVERSATION:,}. Ask in a new session."
            )
        return self.store.sessions.create(
            check_query(query),
            pool_label=self.pool.label,
            origin=origin,
            conversation=conversation,
            settings=settings,
        )

    def follow_up(
        self,
        session: str,
        query: str,
        *,
        run: str | None = None,
        settings: Settings | None = None,
        uploads: Sequence[Upload] = (),
    ) -> Session:
        """A new session for a question that continues a session's conversation: after its question and the
        answer of its `run` (None: of its newest run with an answer), with these files.

        Raises `WorkflowError` where there is no such answer, `QueryError` as `ask` and `attached`.
        """
        before = self.store.sessions.find(session)
        ended = [it for it in self.store.runs.of_session(session) if it.status == "finished"]
        chosen = (it for it in ended if run in (None, it.id))
        answer = next((it.answer for it in chosen if it.answer and self.state(it).answered), None)
        if answer is None:
            raise WorkflowError("There is no answer to continue from; run the session's workflow first.")
        conversation = before.earlier_conversation.after(before.query, answer)
        conversation = attached(conversation, uploads, cards=self.pool.cards.values()) or conversation
        return self.ask(query, settings=settings, conversation=conversation)


class ViewOnlyWorkbench(Workbench):
    """What `of` knows, as it knows it at each moment."""

    def __init__(self, of: Workbench) -> None:
        # Nothing of its own that stores or runs: no call of the constructor above.
        self.store = of.store.view_only()
        self.background = _only(of.background, "live")
        self.activities = _only(of.activities, "live_plan", "live_alternatives", "busy", "failure")
        self.runner = _only(of.runner, "runtime", "previous")
        self._observers = ()
        self._folded, self._folding = of._folded, of._folding
        self._asker, self._person = of._asker, of._person
        self._add_parts()
        self.used_today = of.used_today

    def close(self) -> NoReturn:
        """Refused: watchers close nothing."""
        raise ViewOnly("A watcher cannot close the workbench.")


class _Only:
    """The named attributes of an object; any other raises `ViewOnly`."""

    def __init__(self, of: object, names: tuple[str, ...]) -> None:
        self._of, self._names = of, names

    def __getattr__(self, name: str) -> Any:
        if name in self._names:
            return getattr(self._of, name)
        raise ViewOnly("This is view-only: nothing can be planned, run, stopped or changed here.")


def _only(of: Any, *names: str) -> Any:
    return cast("Any", _Only(of, names))
