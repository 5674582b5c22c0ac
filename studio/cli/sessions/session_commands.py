"""`sessions`: the commands about stored sessions; here those that change and remove them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated

import typer
from typer import Argument

from conductor.errors import StorageError
from conductor.text.formatting import quantity, size
from storage import SessionStore
from storage.store.housekeeping import Cleaning
from studio.cli.opening import SessionId, SessionIds, changed_line, session_of, stored
from studio.cli.options import App, Stored, count, flag, option
from studio.cli.output.terminal import agreed, one_line, print_lines, print_remark
from studio.cli.sessions import listing, note_commands, retention_command, show, transfer
from studio.sessions.retention import DAY, DEFAULT_DAYS, VARIABLE, retention_days
from studio.sessions.retention import restore as put_back

app = App()


@app.callback()
def sessions() -> None:
    """List, search, show and change sessions.

    An ID may be cut to its first characters, 4 at least, where no other session's id begins so.
    """


app.command("list")(listing.list_sessions)
app.command()(listing.search)
app.command()(show.show)
app.command()(note_commands.note)
app.command("notes")(note_commands.list_notes)
app.command()(transfer.export)
app.command("import")(transfer.import_file)
app.command()(transfer.fork)
app.command("retention")(retention_command.show_retention)


# -- changes ---------------------------------------------------------------------------------------


@app.command()
def delete(
    ctx: typer.Context,
    ids: SessionIds,
    yes: Annotated[bool, flag("--yes -y", "Do not ask.")] = False,
    *,
    options: Stored,
) -> int:
    """Delete sessions from the list; `restore` puts them back."""
    with stored(options) as store:
        chosen = _chosen(store, ids)
        if not yes:
            if not sys.stdin.isatty():
                ctx.fail("there is no terminal to confirm in; add --yes to delete")
            for id, title in chosen.items():
                print_lines(f"{id[:8]}  {one_line(title)}", stream=sys.stderr)
            if not agreed(f"Delete {quantity(len(chosen), 'session')}?"):
                print_remark("nothing was deleted.")
                return 1
        return _each(options, chosen, store.sessions.delete, done="deleted")


@app.command()
def restore(ids: SessionIds, options: Stored) -> int:
    """Put deleted sessions back; where their age would delete them again, with the tag `keep`."""
    with stored(options) as store:
        return _each(options, _chosen(store, ids), partial(put_back, store), done="restored")


def _chosen(store: SessionStore, prefixes: Sequence[str]) -> Mapping[str, str]:
    """The titles of all of them by their ids, before the first is changed."""
    return {id: _title(store, id) for id in [session_of(store, prefix) for prefix in prefixes]}


def _title(store: SessionStore, id: str) -> str:
    try:
        return store.sessions.find(id).title
    except StorageError:
        # It is deleted and restored as any other.
        return "(cannot be read)"


def _each(options: Stored, chosen: Mapping[str, str], act: Callable[[str], object], *, done: str) -> int:
    for id in chosen:
        act(id)
    lines = [f"{done} {id[:8]}  {one_line(title)}" for id, title in chosen.items()]
    return options.show({done: [*chosen]}, *lines)


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


# -- vacuum ----------------------------------------------------------------------------------------


_days = count("Deleted more days ago than these; 0: all that are deleted.", "DAYS", least=0, most=999_999)


@app.command(
    epilog=f"{VARIABLE} sets how many days deleted sessions stay, {DEFAULT_DAYS} where it is not set; with 0 "
    "they stay until they are removed with --older-than. The app applies it once a day when it starts."
)
def vacuum(
    ctx: typer.Context,
    older_than: Annotated[int | None, _days] = None,
    dry_run: Annotated[bool, flag("--dry-run", "Print what would be removed, and do nothing.")] = False,
    compact: Annotated[bool, flag("--compact", "Rewrite a SQLite file; no one writes meanwhile.")] = False,
    *,
    options: Stored,
) -> int:
    """Remove for good the sessions that were deleted long ago, and free their space.

    Removes the sessions that were deleted longer ago than the retention, and the outputs that no run refers
    to, and gives their room back, a little at a time: what runs goes on. With --compact it is refused while
    anything runs.
    """
    if dry_run and compact:
        ctx.fail("--dry-run does nothing; leave out --compact")
    days = retention_days() if older_than is None else older_than
    seconds = None if days is None else days * DAY
    with stored(options) as store:
        if compact:
            print_remark("compacting; writes of other programs wait meanwhile.")
        if dry_run:
            done = store.housekeeping.cleaning(older_than=seconds)
        else:
            done = store.housekeeping.clean_up(older_than=seconds, compact=compact)
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
        "bytes_unused": done.unused,
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
            f"{quantity(len(done.sessions), 'deleted session')} with {quantity(done.runs, 'run')}, and "
            f"{quantity(done.outputs, 'output')} that no run refers to: {verb}."
        )
    if done.bytes_after is None:
        freed = f"about {size(done.freed)} would be given back"
        yield f"The store takes {size(done.bytes_before)}; {freed}."
    else:
        yield f"The store took {size(done.bytes_before)} and takes {size(done.bytes_after)} now."
        if done.unused:
            yield f"{size(done.unused)} of it are free for new sessions; --compact gives them back."
