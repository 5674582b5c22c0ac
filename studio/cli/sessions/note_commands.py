"""`sessions note` and `sessions notes`: what people wrote on words of a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import Annotated, get_args

import typer
from typer import Argument, BadParameter

from conductor.own_settings import setting
from conductor.text.quotation import located
from conductor.values.note import NotePart
from storage.records import NoteRecord
from storage.store import SessionStore
from studio.cli.opening import SessionId, note_of, session_of, stored
from studio.cli.options import JsonLines, Stored, count, option
from studio.cli.output.terminal import moment, one_line
from studio.sessions.notes import AUTHOR, NotePlace, Notes, step_text

_STEP_PARTS = tuple(part for part in get_args(NotePart) if part != "question")


def _part(text: str) -> str:
    if text not in _STEP_PARTS:
        raise BadParameter(f"choose one of {', '.join(_STEP_PARTS)}")
    return text


_Step = Annotated[int | None, count("The step, from 1; default: the question.")]
_Part = Annotated[
    str, option(f"Which text of the step: {', '.join(_STEP_PARTS)}.", "PART", _part, names=("--part",))
]


def note(
    ctx: typer.Context,
    id: SessionId,
    text: Annotated[str, Argument(metavar="TEXT", parser=str, help="What to write.")],
    *,
    step: _Step = None,
    part: _Part = "output",
    quote: Annotated[str, option("The words that it is about; default: all of the text.", "WORDS")] = "",
    author: Annotated[str | None, option(f"Who writes it; default: {AUTHOR}.", "NAME")] = None,
    options: Stored,
) -> int:
    """Write a note on a step of a session's newest run, or on its question.

    The words to quote may leave out Markdown's marks. A note on words that are not in the text is refused.
    """
    with stored(options) as store:
        session = session_of(store, id)
        place, source = _place(ctx, store, session, step, part)
        notes = Notes(store)
        if quote and located(source, quote) is None:
            ctx.fail(f"the words {one_line(quote, 60)!r} are not in the {place.part}; quote them as they are")
        author = setting(AUTHOR) if author is None else author
        record = notes.write(session, text, place=place, source=source, quote=quote, author=author)
    return options.show(record.model_dump(mode="json"), f"noted {record.id[:8]}  {one_line(record.text)}")


def _place(
    ctx: typer.Context, store: SessionStore, session: str, step: int | None, part: str
) -> tuple[NotePlace, str]:
    """The text that the options name: where it is, and what it is."""
    if step is None:
        return NotePlace(part="question"), store.sessions.find(session).query
    run = store.runs.latest(session)
    state = None if run is None else store.runs.state(run.id)
    revision = store.revisions.head(session) if run is None else store.revisions.find(run.revision)
    if revision is None or step > len(revision.workflow):
        ctx.fail(f"the session's workflow has {0 if revision is None else len(revision.workflow)} steps")
    at = step - 1
    place = NotePlace.model_validate(
        {"part": part, "step": at, "revision": revision.id, "run": None if run is None else run.id}
    )
    step_state = None if state is None or not state.steps else state.steps[at]
    return place, step_text(place.part, revision.workflow.steps[at], step_state)


def list_notes(
    id: SessionId,
    delete: Annotated[list[str] | None, option("Delete this note; its beginning is enough.", "NOTE")] = None,
    restore: Annotated[list[str] | None, option("Put this one back.", "NOTE")] = None,
    *,
    _json_lines: JsonLines = False,
    options: Stored,
) -> int:
    """List the notes of a session, oldest first."""
    with stored(options) as store:
        session = session_of(store, id)
        for each in delete or ():
            store.notes.delete(note_of(store, each))
        for each in restore or ():
            store.notes.restore(note_of(store, each))
        notes = store.notes.of_session(session)
    shape = {"session": session, "notes": [each.model_dump(mode="json") for each in notes]}
    return options.show(shape, *(note_lines(notes) if notes else ["no notes"]))


def note_lines(notes: Sequence[NoteRecord]) -> Iterator[str]:
    """Each note for people, with the words that it is about."""
    for each in notes:
        where = "question" if each.step is None else f"step {each.step + 1}, {each.part}"
        by = "" if each.author is None else f"  {one_line(each.author, 40)}"
        yield f"{each.id[:8]}  {moment(each.created_at)}  {where}{by}"
        if each.quote:
            yield f"  “{one_line(each.quote, 120)}”"
        yield indent(each.text, "  ")
