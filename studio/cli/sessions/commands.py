"""`sessions`: listing, finding, changing and removing them; more in `show` and `transfer`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any, get_args

import typer
from typer import Argument, BadParameter

from conductor.text.formatting import counted, size
from conductor.workflow.model import Topology
from storage import Session, SessionState, SessionStore, SessionSummary
from storage.records import EVERYTHING, SessionFilter
from storage.search.terms import Snippet
from storage.store.housekeeping import Cleaning
from studio.cli.opening import SessionId, SessionIds, changed_line, session_of, stored
from studio.cli.options import App, Stored, count, flag, option
from studio.cli.output.shapes import Shape
from studio.cli.output.terminal import (
    UNKNOWN,
    agreed,
    amount,
    moment,
    one_line,
    print_remark,
    table,
    tokens_cell,
)
from studio.cli.sessions import show, transfer
from studio.cli.sessions.show import state_word
from studio.sessions.retention import DAY, DEFAULT_DAYS, VARIABLE, retention_days

_HEADINGS = ("id", "state", "updated", "shape", "steps", "tokens", "title")
_WORDS = 'Words of titles, queries, instructions and answers; all of them, "in quotes" as a phrase.'
_STATES = {
    "stopped" if state == "cancelled" else state: state
    for part in get_args(SessionState)
    for state in get_args(part) or (part,)
}
_SHAPES = {shape: shape for shape in get_args(Topology)}

app = App()


@app.callback()
def sessions() -> None:
    """List, search, show and change sessions.

    An ID may be cut to its first characters, 4 at least, where no other session's id begins so.
    """


# -- filters ---------------------------------------------------------------------------------------


def _first_moment(text: str) -> float:
    """In Unix seconds, by this machine's clock where the text names no zone."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise BadParameter(f"{text!r} is no day; write it as 2026-11-01") from error


def _last_moment(text: str) -> float:
    """As `_first_moment`; of a whole day its last one."""
    return _first_moment(text if len(text) > len("2026-11-01") else f"{text}T23:59:59.999999")


def _range(text: str) -> tuple[int | None, int | None]:
    least, dots, most = text.partition("..")
    ends = (least, most if dots else least)
    if not any(ends) or not all(re.fullmatch("[0-9]{0,18}", end) for end in ends):
        raise BadParameter(f"{text!r} is no range; write 100..5000, 100.. or ..5000")
    return int(ends[0]) if ends[0] else None, int(ends[1]) if ends[1] else None


def _several_of(words: Mapping[str, str], metavar: str, name: str) -> Any:
    """An option that may be repeated, and takes words, or the names that they stand for."""

    def read(text: str) -> str:
        if text not in words and text not in words.values():
            raise BadParameter(f"{text!r} is not one of {', '.join(words)}")
        return words.get(text, text)

    return _only(", ".join(words), metavar, read, names=[name], complete=lambda: list(words))


_only = partial(option, panel="Only sessions with")


@dataclass(frozen=True)
class Filter(Stored):
    """Which sessions are listed, and how many of them. The names are those of `SessionFilter`."""

    states: Annotated[list[str] | None, _several_of(_STATES, "STATE", "--state")] = None
    topologies: Annotated[list[str] | None, _several_of(_SHAPES, "SHAPE", "--topology")] = None
    workers: Annotated[list[str] | None, _only("A planned worker.", "NAME", names=["--worker"])] = None
    tags: Annotated[list[str] | None, _only("A tag.", "TAG", names=["--tag"])] = None
    since: Annotated[float | None, _only("Updated then or later.", "YYYY-MM-DD", _first_moment)] = None
    until: Annotated[float | None, _only("Updated then or earlier.", "YYYY-MM-DD", _last_moment)] = None
    tokens: Annotated[Any, _only("As 100..5000, 100.. or ..5000.", "A..B", _range)] = None
    deleted: Annotated[bool, flag("--deleted", "List the deleted sessions in place of the others.")] = False
    limit: Annotated[int, count("List N sessions.")] = 50
    offset: Annotated[int, count("Leave out the first N.", least=0)] = 0

    def store_filter(self, words: Sequence[str]) -> SessionFilter:
        """These options as the store's filter; `words` are searched for."""
        least, most = self.tokens or (None, None)
        fields = SessionFilter.model_fields
        given = {name: value for name, value in vars(self).items() if name in fields and value is not None}
        return SessionFilter(search=" ".join(words), least_tokens=least, most_tokens=most, **given)


@app.command("list")
def list_sessions(ctx: typer.Context, options: Filter) -> int:
    """List sessions, last updated first.

    Of an option that is given several times one value is enough, of --tag all must be there.
    """
    return _list(ctx, options, ())


@app.command()
def search(
    ctx: typer.Context, words: Annotated[list[str], Argument(metavar="WORDS", help=_WORDS)], options: Filter
) -> int:
    """Find sessions by their words.

    Of an option that is given several times one value is enough, of --tag all must be there.
    """
    return _list(ctx, options, words)


def _list(ctx: typer.Context, options: Filter, words: Sequence[str]) -> int:
    asked = options.store_filter(words)
    if (fault := asked.reversed_range) is not None:
        ctx.fail(fault)
    with stored(options) as store:
        total = store.sessions.count(asked)
        found = store.sessions.listed(asked, limit=options.limit, offset=options.offset)
        places = store.sessions.snippets([summary.id for summary in found], asked.search)
    if options.json:
        shapes = [_shape(summary, places if asked.search else None) for summary in found]
        return options.show({"sessions": shapes, "total": total, "offset": options.offset})
    if found:
        headings, *rows = table(_HEADINGS, [_row(summary) for summary in found], right=(4, 5)).split("\n")
        print(headings)
        for summary, row in zip(found, rows, strict=True):
            print(row)
            if summary.id in places:
                place = places[summary.id]
                print(f"          {place.kind}: {one_line(''.join(text for text, _ in place.parts))}")
    print_remark(_counts(asked, shown=len(found), total=total, offset=options.offset))
    return 0


def _shape(summary: SessionSummary, places: Mapping[str, Snippet] | None) -> Shape:
    """A session as a list shows it; times in Unix seconds, what is unknown null.

    Of a search (`places` is not None) also the `snippet` that was found: `{"kind", "parts"}`, what text of
    the session it is, and its stretches, each with whether it matches. It is null where only the title
    matches.
    """
    shape = summary.model_dump(mode="json")
    if places is not None:
        place = places.get(summary.id)
        shape["snippet"] = None if place is None else {"kind": place.kind, "parts": place.parts}
    return shape


def _row(summary: SessionSummary) -> Sequence[str]:
    tags = "".join(f"  #{one_line(tag, 30)}" for tag in summary.tags)
    return (
        summary.id[:8],
        state_word(summary.state),
        moment(summary.updated_at),
        summary.topology or UNKNOWN,
        amount(summary.steps),
        tokens_cell(summary.used),
        one_line(summary.title, 60) + tags,
    )


def _counts(asked: SessionFilter, *, shown: int, total: int, offset: int) -> str:
    if not total:
        if asked != EVERYTHING:
            return "no session is like that."
        return "there is no session yet; `run` or the app makes one."
    if shown == total:
        return f"{counted(total, 'session')}."
    after = offset + shown
    rest = f"; --offset {after} shows the next" if shown and after < total else ""
    return f"{shown:,} of {total:,} sessions{rest}."


# -- changes ---------------------------------------------------------------------------------------


@app.command()
def delete(
    ctx: typer.Context,
    ids: SessionIds,
    yes: Annotated[bool, flag("--yes", "Do not ask.")] = False,
    *,
    options: Stored,
) -> int:
    """Delete sessions from the list; `restore` puts them back."""
    with stored(options) as store:
        chosen = _chosen(store, ids)
        if not yes:
            if not sys.stdin.isatty():
                ctx.fail("there is no terminal to confirm in; add --yes to delete")
            for session in chosen:
                print(f"{session.id[:8]}  {one_line(session.title)}", file=sys.stderr)
            if not agreed(f"Delete {counted(len(chosen), 'session')}?"):
                print_remark("nothing was deleted.")
                return 1
        return _each(options, chosen, store.sessions.delete, done="deleted")


@app.command()
def restore(ids: SessionIds, options: Stored) -> int:
    """Put deleted sessions back."""
    with stored(options) as store:
        return _each(options, _chosen(store, ids), store.sessions.restore, done="restored")


def _chosen(store: SessionStore, given: Sequence[str]) -> list[Session]:
    """All of them, each once, before the first is changed."""
    return [store.sessions.find(id) for id in dict.fromkeys(session_of(store, id) for id in given)]


def _each(options: Stored, chosen: Sequence[Session], act: Callable[[str], object], *, done: str) -> int:
    for session in chosen:
        act(session.id)
    return options.show(
        {done: [session.id for session in chosen]}, *(changed_line(done, each) for each in chosen)
    )


@app.command()
def rename(
    id: SessionId,
    title: Annotated[str, Argument(metavar="TITLE", help="Empty: what its query begins with.")],
    options: Stored,
) -> int:
    """Give a session another title."""
    with stored(options) as store:
        renamed = store.sessions.rename(session_of(store, id), title)
    return options.show({"session": renamed.id, "title": renamed.title}, changed_line("renamed", renamed))


@app.command()
def tag(
    id: SessionId,
    add: Annotated[list[str] | None, Argument(metavar="TAG", help="Add these; none: show all.")] = None,
    remove: Annotated[list[str] | None, option("Remove this one.", "TAG")] = None,
    *,
    options: Stored,
) -> int:
    """Tag a session, or show its tags."""
    with stored(options) as store:
        session = session_of(store, id)
        for each in remove or ():
            store.sessions.remove_tag(session, each)
        for each in add or ():
            store.sessions.add_tag(session, each)
        tags = store.sessions.tags(session)
    return options.show({"session": session, "tags": tags}, *(map(one_line, tags) if tags else ["no tags"]))


app.command()(show.show)
app.command()(transfer.export)
app.command("import")(transfer.import_file)
app.command()(transfer.fork)


# -- vacuum ----------------------------------------------------------------------------------------


_days = count("Deleted more days ago than these; 0: all that are deleted.", "DAYS", least=0, most=999_999)


@app.command(
    epilog=f"{VARIABLE} sets how many days deleted sessions stay, {DEFAULT_DAYS} where it is not set; with 0 "
    "they stay until they are removed with --older-than. The app applies it once a day when it starts."
)
def vacuum(
    older_than: Annotated[int | None, _days] = None,
    dry_run: Annotated[bool, flag("--dry-run", "Print what would be removed, and do nothing.")] = False,
    *,
    options: Stored,
) -> int:
    """Remove for good the sessions that were deleted long ago, and free their space.

    Removes the sessions that were deleted longer ago than the retention, and the outputs that no run refers
    to; then compacts the database. Refused while anything runs.
    """
    days = retention_days() if older_than is None else older_than
    seconds = None if days is None else days * DAY
    with stored(options) as store:
        if not dry_run:
            print_remark("cleaning up; writes of other programs wait meanwhile.")
        done = (store.housekeeping.cleaning if dry_run else store.housekeeping.clean_up)(older_than=seconds)
    # `retention_days` is null where no deleted session goes; in a dry run `bytes_after` is null, and
    # `bytes_freed` an estimate.
    shape = {
        "dry_run": dry_run,
        "retention_days": days,
        "sessions": [{"id": session, "title": title} for session, title in done.sessions.items()],
        "runs": done.runs,
        "outputs": done.outputs,
        "bytes_before": done.bytes_before,
        "bytes_after": done.bytes_after,
        "bytes_freed": done.freed,
    }
    return options.show(shape, *_cleaning_lines(done, dry_run=dry_run))


def _cleaning_lines(done: Cleaning, *, dry_run: bool) -> Iterator[str]:
    for session, title in done.sessions.items():
        yield f"{session[:8]}  {one_line(title, 90)}"
    verb = "would be removed" if dry_run else "removed"
    if not done.sessions and not done.outputs:
        yield "No session was deleted long enough ago to go, and runs refer to all outputs."
    else:
        yield (
            f"{counted(len(done.sessions), 'deleted session')} with {counted(done.runs, 'run')}, and "
            f"{counted(done.outputs, 'output')} that no run refers to: {verb}."
        )
    if done.bytes_after is None:
        freed = f"about {size(done.freed)} would be given back"
        yield f"The store takes {size(done.bytes_before)}; {freed}."
    else:
        yield f"The store took {size(done.bytes_before)} and takes {size(done.bytes_after)} now."
