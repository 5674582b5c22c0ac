"""The parts of the store, one for each kind of row: which function of `storage.tables` is which method.

A method takes the arguments of its function, without the connection and the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Concatenate, Unpack

from sqlalchemy import Connection

from conductor.engine.known_outputs import EarlierRun
from conductor.errors import SessionBusy, StorageError
from conductor.runs.events import Event, RunFinished, StepFinished
from conductor.runs.request import UNKNOWN_ASKER, Asker, RunRequest
from conductor.runs.state import RunState
from conductor.values.charge import Charge
from storage.api_token import Token, TokenLimits, new_secret
from storage.copies import forking, free_titles, session_copy
from storage.copies.free_titles import FreeTitles
from storage.copies.new_sessions import Entries, NewSessions, give_up, perform
from storage.limits import NO_RATE, Levels, Limits, Spent
from storage.records import RequestSession, Revision, RunRecord
from storage.search import conditions, listing
from storage.search import query as finding
from storage.store.processes import Processes
from storage.store.transactions import (
    P,
    Part,
    T,
    Transactions,
    cached,
    dated,
    new_session_dated,
    read,
    session_dated,
    session_write,
    streamed,
    write,
)
from storage.tables import (
    api_requests,
    evaluations,
    ledger,
    plans,
    rates,
    revisions,
    runs,
    sessions,
    text_pieces,
)
from storage.tables.people import (
    change_requests,
    corrections,
    notes,
    people_limits,
    team_tests,
    view_links,
)
from storage.tables.rows import new_id

_EARLIER_RUNS = 500
"""Runs that are over whose outputs stay in memory, for the reruns of their sessions."""

_GIVE_UP_BATCH = 500
"""Sessions of a failed import that one transaction marks."""

USE_SECONDS = 60.0
"""How exactly it is stored when a token was last used: a busy one is not written with every request."""


class Sessions(Part):
    """Sessions by id and in lists; their names, tags, deletion and settings."""

    create = new_session_dated(sessions.create)
    find = cached(sessions.find)
    fork = session_dated(forking.fork)
    rename = session_write(sessions.rename)
    set_settings = session_write(sessions.set_settings)
    delete = dated(sessions.delete)
    restore = write(sessions.restore)
    named = read(sessions.named)
    titled = read(sessions.titled)

    listed = cached(finding.listed)
    newest = cached(finding.newest)
    summaries = read(finding.summaries)
    snippets = read(finding.snippets)
    window = cached(listing.window)
    count = read(listing.count)
    ids = read(listing.ids)
    facet_names = read(conditions.facet_names)

    tags = cached(sessions.tags_of)
    add_tag = session_write(sessions.add_tag)
    add_tags = write(sessions.add_tags)
    remove_tag = session_write(sessions.remove_tag)

    view_links_revoked = cached(view_links.revoked)
    revoke_view_links = session_write(view_links.revoke)

    total = cached(ledger.total)
    total_by = read(ledger.total_by)
    used_since = cached(ledger.since)


class Revisions(Part):
    """Revisions of a session's workflow, and which of them is the head."""

    add = session_dated(revisions.add)
    import_workflow = new_session_dated(revisions.import_workflow)
    find = cached(revisions.find)
    of_session = cached(revisions.of_session)
    history = cached(revisions.history)
    head = cached(revisions.head)
    planned = cached(revisions.planned)
    neighbours = cached(revisions.neighbours)
    redo_targets = cached(revisions.redo_targets)
    undo = session_dated(revisions.undo)
    redo = session_dated(revisions.redo)


class Experiments(Part):
    """Experiments on a run; their trials are separate runs."""

    add = session_dated(runs.add_experiment)
    find = cached(runs.find_experiment)
    of_session = cached(runs.experiments_of)
    trials = cached(runs.trials_of)
    running = cached(runs.running_experiments)
    ask_to_stop = dated(runs.ask_experiment_to_stop)
    is_asked_to_stop = read(runs.is_experiment_asked_to_stop)


class Evaluations(Part):
    """Evaluations, their items and their cells; each cell's answer is a session."""

    add = dated(evaluations.add)
    find = read(evaluations.find)
    named = read(evaluations.named)
    listed = cached(evaluations.listed)
    sizes = read(evaluations.sizes)
    delete = dated(evaluations.delete)
    items = read(evaluations.items)
    item_at = read(evaluations.item_at)
    set_spec = write(evaluations.set_spec)
    set_end = write(evaluations.set_end)
    cells = read(evaluations.cells)
    cell_of_session = cached(evaluations.cell_of_session)
    begin_cell = new_session_dated(evaluations.begin_cell)
    end_cell = session_dated(evaluations.end_cell)


class Corrections(Part):
    """People's changes of Conductors' plans, and their ratings of answers."""

    rate = dated(corrections.rate)
    rating = cached(corrections.rating)
    rater = cached(corrections.rater)

    read = streamed(corrections.read)
    read_judged = streamed(corrections.read_judged)


class Notes(Part):
    """People's notes on words of a session."""

    add = session_dated(notes.add)
    find = read(notes.find)
    named = read(notes.named)
    of_session = cached(notes.of_session)
    delete = dated(notes.delete)
    restore = write(notes.restore)


class Changes(Part):
    """What people asked Conductors to change in words, and what they took of the answers."""

    add = session_dated(change_requests.add)
    find = read(change_requests.find)
    named = read(change_requests.named)
    of_session = cached(change_requests.of_session)
    decide = write(change_requests.decide)
    read_revised = streamed(change_requests.revised)


class TeamTests(Part):
    """Questions that the team keeps as tests, by the name of their set."""

    add = dated(team_tests.add)
    find = read(team_tests.find)
    named = read(team_tests.named)
    of_set = cached(team_tests.of_set)
    of_question = cached(team_tests.of_question)
    sets = cached(team_tests.sets)
    delete = write(team_tests.delete)


class SessionFiles(Part):
    """Whole sessions, as they go into a file and come out of one."""

    is_title_taken = read(free_titles.is_taken)
    entries = streamed(session_copy.entries_of)

    def insert_sessions(
        self, entries: Entries, *, progress: Callable[[int], None] | None = None
    ) -> Sequence[str]:
        """Make a session of each; their ids. No list shows any of them before all are there.

        Each transaction takes some hundredths of a second, and other writes go between. `progress` is called
        with how many sessions were begun. Where it fails, or is killed, an open store removes what was
        inserted: soon, or after a day.
        """
        new = NewSessions(self._clock(), FreeTitles(is_taken=self.is_title_taken))
        # No other process knows them: together they have the lock of one session.
        own = new_id()
        try:
            for steps in new.steps(entries):
                done = 0
                while done < len(steps):
                    done += self._write_of(own, perform, steps[done:])
                if progress is not None:
                    progress(len(new.ids))
            self._write_of(own, new.show)
        except BaseException:
            with suppress(StorageError):
                for start in range(0, len(new.ids), _GIVE_UP_BATCH):
                    self._write_of(own, give_up, new.ids[start : start + _GIVE_UP_BATCH])
            raise
        return tuple(new.ids)


class _Limited(Part):
    """A part with the rates of tokens or people."""

    _look = read(rates.look)

    def take(self, by: Asker, limits: Limits) -> Levels:
        """Take a request from the rates of `by`, for all processes of the store."""
        if not limits.has_rate:
            return NO_RATE
        return self._write_of(_name_of(by), rates.take, self._clock(), by, limits)

    def look(self, by: Asker, limits: Limits) -> Levels:
        """What `take` would return, but for what that takes."""
        return self._look(self._clock(), by, limits) if limits.has_rate else NO_RATE

    def spend(self, by: Asker, limits: Limits, tokens: int) -> None:
        """Take the tokens that a request used, where they are limited; it is not waited for."""
        if limits.tokens_per_minute is not None and tokens:
            now = self._clock()
            self._transactions.writer.submit(
                lambda connection: rates.spend(connection, now, by, limits, tokens=tokens), of=_name_of(by)
            )


def _name_of(by: Asker) -> str:
    """What the rows of a token or a person are locked by, as those of a session by its id."""
    return f"{by.token or ''} {by.person or ''}"


class People(_Limited):
    """The limits of people, and what they have spent."""

    set_limits = write(people_limits.set_limits)
    limits_by_person = cached(people_limits.limits_by_person)
    limits_of = cached(people_limits.limits_of)
    spent_by_person = read(ledger.spent_by_person)

    def spent(self, person: str, limits: Limits) -> Spent:
        """What the person's requests have used in the period of these limits that is now."""
        return self._read(people_limits.spent, self._clock(), person, limits)


class Tokens(_Limited):
    """Bearer tokens, their limits and what they have spent; of their secrets only digests are stored."""

    listed = cached(api_requests.listed)
    any_in_force = cached(api_requests.any_in_force)
    with_digest = read(api_requests.with_digest)
    revoke = dated(api_requests.revoke)
    note_request = session_dated(api_requests.note_request)

    def create(self, name: str, limits: TokenLimits | None = None) -> tuple[Token, str]:
        """A new token, and its text, which is stored nowhere: who loses it makes another token.

        Raises `StorageError` for a name that another token has which is not revoked.
        """
        secret = new_secret()
        token = self._write(api_requests.add, self._clock(), name, secret, limits or TokenLimits())
        return token, secret.text

    def spent(self, id: str) -> Spent:
        """What its requests have used in the period of its budget that is now."""
        return self._read(api_requests.spent, self._clock(), id)

    def note_use(self, token: Token) -> None:
        """Store that a request came with it, to the minute; it is not waited for."""
        now = self._clock()
        if token.used_at is None or not 0 <= now - token.used_at < USE_SECONDS:
            self._transactions.writer.submit(
                lambda connection: api_requests.note_use(connection, token.id, now=now), of=token.id
            )


class _Owned(Part):
    """A part with rows that have an owner: what this process calls or runs now."""

    def __init__(self, transactions: Transactions, processes: Processes) -> None:
        super().__init__(transactions)
        self._processes = processes

    def _beginning(
        self, job: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> Callable[[Connection], T]:
        """What writes the beginning of a run, after the events that the store did not take before."""

        def begin(connection: Connection) -> T:
            self._transactions.write_unwritten(connection)
            return job(connection, *args, **kwargs)

        return begin

    def _write_at_rest(
        self,
        session: str,
        job: Callable[Concatenate[Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """As `_write_of`; a run of a process that died keeps no job from the session."""
        try:
            return self._write_of(session, job, *args, **kwargs)
        except SessionBusy:
            self._processes.mark_interrupted()
            return self._write_of(session, job, *args, **kwargs)


class Plans(_Owned):
    """Plans, valid or not, and alternatives to choose from."""

    add = session_dated(revisions.add_planned)
    find = cached(plans.find)
    of_session = cached(plans.of_session)
    alternatives = cached(plans.alternatives_of)
    latest = cached(plans.latest)
    charged = read(ledger.charged_for_plans)
    is_underway = read(plans.is_underway)

    def begin(self, planning: str, session: str, **attempt: Unpack[plans.Attempt]) -> None:
        """Record that this process now calls a Conductor, under the id `planning`; `add` ends it.

        Where the process dies before, the plan is marked as interrupted; see `mark_interrupted`.
        """
        underway = plans.Underway(session=session, owner=self._processes.hold(), **attempt)
        self._write_of(session, plans.begin, planning, underway)


class Requests(_Owned):
    """Which token began a session, and the responses that it got."""

    is_open_to = read(api_requests.is_open_to)
    is_own = read(api_requests.is_own)
    extend = session_dated(api_requests.extend)
    set_newest_turn = session_write(api_requests.set_newest_turn)
    with_newest_turn = read(api_requests.with_newest_turn)
    keep_response = session_write(api_requests.keep_response)
    response = read(api_requests.response)
    set_response_aside = session_write(api_requests.set_response_aside)
    earlier_response = read(api_requests.earlier_response)
    keep_earlier_response = session_write(api_requests.keep_earlier_response)
    responses_of = read(api_requests.responses_of)
    answered = read(api_requests.answered)

    def begin(
        self, request: RunRequest, *, run: str | None = None, **place: Unpack[api_requests.Place]
    ) -> Future[None]:
        """Create the session of that id for a request, with its workflow where it has one: all or nothing.

        Returns at once; the future resolves when it is durable. `run` is the id of the workflow's run that
        begins now: `append` that run's events next, which are durable together with their session.
        """
        # Only a run has an owner.
        owner = "" if run is None else self._processes.hold()
        begin = self._beginning(
            api_requests.begin_session, self._clock(), request, run=run, owner=owner, **place
        )
        # A run brings events: one transaction for all of them.
        session = place["session"]
        if run is not None:
            self._processes.sessions[run] = session
        write = self._transactions.writer.submit(begin, urgent=run is None, of=session)
        if run is not None:
            write.add_done_callback(partial(self._note_start, run))
        return write

    def continue_session(self, request: RunRequest, *, revision: str, stored_as: RequestSession) -> Revision:
        """The session of that revision has the request's messages from now on; the revision of its workflow.

        Raises `SessionBusy` while a run of a living process goes on there.
        """
        now = self._clock()
        session = self._read(revisions.find, revision).session
        return self._write_at_rest(
            session, api_requests.continue_session, now, request, revision=revision, stored_as=stored_as
        )

    def _note_start(self, run: str, write: Future[None]) -> None:
        if write.exception() is None:
            self._processes.started.add(run)
        else:
            self._processes.sessions.pop(run, None)


class Ledger(Part):
    """What requests took, and sums over them. `watchers` are shown what is added here once it is stored: the
    requests that belong to no run and to no plan.
    """

    used = cached(ledger.used)
    titles = cached(ledger.titles)
    of_evaluation = read(ledger.totals_of_evaluation)
    charged_for_evaluation = read(ledger.charged_for_evaluation)

    def __init__(self, transactions: Transactions) -> None:
        super().__init__(transactions)
        self.watchers: list[Callable[[Sequence[Charge]], None]] = []

    def add(
        self, charges: Sequence[Charge], *, session: str | None = None, by: Asker = UNKNOWN_ASKER
    ) -> None:
        """Add requests that ended now and belong to no run."""
        self._transactions.write_of(session, ledger.add, self._clock(), charges, session=session, by=by)
        for watch in self.watchers:
            watch(charges)


class Runs(_Owned):
    """Runs, their events, and the outputs of their steps."""

    find = cached(runs.find)
    named = read(runs.named)
    of_session = cached(runs.of_session)
    latest = cached(runs.latest)
    outputs = cached(runs.outputs_of)
    totals = read(ledger.run_totals)
    events = read(runs.events_of)
    broken_off = read(runs.broken_off)
    stop_waiting = dated(runs.stop_waiting)

    def __init__(self, transactions: Transactions, processes: Processes) -> None:
        super().__init__(transactions, processes)
        self._earlier: dict[str, EarlierRun] = {}

    def earlier(self, session: str) -> tuple[EarlierRun, ...]:
        """What the session's newest runs gave, newest first, and then those of the session that it was forked
        from.
        """
        return self._cached(self._read_earlier, session)

    def _read_earlier(self, connection: Connection, session: str) -> tuple[EarlierRun, ...]:
        if len(self._earlier) > _EARLIER_RUNS:
            self._earlier.clear()
        return runs.earlier_runs(connection, session, self._earlier)

    def start(self, **new: Unpack[runs.NewRun]) -> RunRecord:
        """Record that this process now runs `revision` under the id `run`; `append` its events next.

        A session runs once at a time: raises `SessionBusy` while it has a run without an end, unless that
        run's process died; then that run is marked as interrupted. So does one that `resumes` another, unless
        that is the newest of the session, and interrupted. Trials of an `experiment` run beside it
        and beside one another, and leave the session's state and its known outputs as they are.
        """
        now, owner = self._clock(), self._processes.hold()
        start = self._beginning(runs.start, now, owner, **new)
        record = self._write_at_rest(new["session"], start)
        self._processes.sessions[new["run"]] = new["session"]
        self._processes.started.add(new["run"])
        return record

    def append(self, event: Event) -> Future[None]:
        """Queue an event of a started run and return at once; the future resolves when it is durable.

        A `StepFinished` also stores its output for the session, a `RunFinished` ends the run's record, in
        the event's own transaction. Neighbouring events share a future, which fails when any of them was
        not stored. Its callbacks run in the writer thread: they must be quick and must not call the store.

        An event after the run's end is refused: another process may have ended the run, because this one lost
        its lock for too long.

        An event that the store could not take (locked, full) is retried, though its future failed with
        `NotKeptYet`: before the run's next event, and by `start`, `mark_interrupted` and `close`. This
        process lives, so no other may end its run.
        """
        # The run's next call may wait for an output, and a caller for its end.
        urgent = isinstance(event, StepFinished | RunFinished)
        append = self._transactions.writer.append
        return append(event, urgent=urgent, of=self._processes.sessions.get(event.run))

    def pack(self, run: str) -> None:
        """Store the pieces of texts of a run that is over in fewer rows, in the background.

        A store that is closed meanwhile, or takes no write, has them in the rows in which they were written.
        """
        with suppress(StorageError):
            session = self._processes.sessions.get(run)
            self._transactions.writer.submit(lambda connection: text_pieces.pack(connection, run), of=session)

    def state(self, run: str, *, before: RunState | None = None) -> RunState:
        """The fold of the run's durable events; with an earlier result `before`, only later ones are read.

        Where an event is missing that the next one needs (the store was full or locked), the state is
        interrupted at that place; `find` still returns the run's outcome. An event that cannot be read is
        left out and named, and its step reads interrupted.
        """
        if before is None:
            return runs.state_of(self._read(runs.readable_events_of, run))
        return runs.state_of(self._read(runs.readable_events_of, run, after=before.seq), before)
