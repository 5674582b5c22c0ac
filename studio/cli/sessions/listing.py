"""`sessions list` and `search`: the sessions that are there, by their state, their words and more."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, get_args

import typer
from typer import Argument, BadParameter

from conductor.text.formatting import quantity
from conductor.workflow.model import Topology
from storage import SessionState, SessionSummary
from storage.records import EVERYTHING, SessionFilter
from studio.cli.opening import session_of, stored
from studio.cli.options import JsonLines, Stored, count, first_moment, flag, option
from studio.cli.output.terminal import (
    UNKNOWN,
    amount,
    moment,
    one_line,
    print_lines,
    print_remark,
    table,
    tokens_cell,
)
from studio.cli.sessions.show import state_word
from studio.sessions.session_shape import listed_shape

_HEADINGS = ("id", "state", "updated", "shape", "steps", "tokens", "title")
_WORDS = 'Words of titles, queries, instructions and answers; all of them, "in quotes" as a phrase.'
_STATES = {
    "stopped" if state == "cancelled" else state: state
    for part in get_args(SessionState)
    for state in get_args(part) or (part,)
}
_SHAPES = {shape: shape for shape in get_args(Topology)}


def _last_moment(text: str) -> float:
    """As `first_moment`; of a whole day its last one."""
    first = first_moment(text)
    return first if len(text) > len("2026-11-01") else first_moment(f"{text}T23:59:59.9999")


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
    since: Annotated[float | None, _only("Updated then or later.", "YYYY-MM-DD", first_moment)] = None
    until: Annotated[float | None, _only("Updated then or earlier.", "YYYY-MM-DD", _last_moment)] = None
    tokens: Annotated[Any, _only("As 100..5000, 100.. or ..5000.", "A..B", _range)] = None
    deleted: Annotated[bool, flag("--deleted", "List the deleted sessions in place of the others.")] = False
    evaluated: Annotated[bool, flag("--evaluated", "List the sessions of evaluations instead.")] = False
    limit: Annotated[int, count("List N sessions.", names=("--limit", "-n"))] = 50
    after: Annotated[str | None, option("List those after it.", "SESSION", names=["--after"])] = None
    json_lines: JsonLines = False

    def store_filter(self, words: Sequence[str]) -> SessionFilter:
        """These options as the store's filter; `words` are searched for."""
        least, most = self.tokens or (None, None)
        fields = SessionFilter.model_fields
        values = {name: value for name, value in vars(self).items() if name in fields and value is not None}
        return SessionFilter(search=" ".join(words), least_tokens=least, most_tokens=most, **values)


def list_sessions(ctx: typer.Context, options: Filter) -> int:
    """List sessions, last updated first.

    Of an option that is given several times one value is enough, of --tag all must be there.
    """
    return _list(ctx, options, ())


def search(
    ctx: typer.Context, words: Annotated[list[str], Argument(metavar="WORDS", help=_WORDS)], options: Filter
) -> int:
    """Find sessions by their words.

    Of an option that is given several times one value is enough, of --tag all must be there.
    """
    return _list(ctx, options, words)


def _list(ctx: typer.Context, options: Filter, words: Sequence[str]) -> int:
    criteria = options.store_filter(words)
    if (fault := criteria.reversed_range) is not None:
        ctx.fail(fault)
    with stored(options) as store:
        after = None if options.after is None else session_of(store, options.after)
        window = store.sessions.window(criteria, after=after, most=options.limit, scanned=None)
        summaries = store.sessions.summaries(window.ids)
        places = store.sessions.snippets([summary.id for summary in summaries], criteria.search)
    further = None if window.further is None else window.ids[-1]
    if options.json:
        shapes = [listed_shape(summary, places if criteria.search else None) for summary in summaries]
        return options.show({"sessions": shapes, "further": further})
    if summaries:
        lines = table(_HEADINGS, [_row(summary) for summary in summaries], right=(4, 5)).split("\n")
        first, failed = [lines[0]], set()
        for summary, line in zip(summaries, lines[1:], strict=False):
            if summary.state in ("failed", "unplanned", "rejected"):
                failed.add(len(first))
            first.append(line)
            if (place := places.get(summary.id)) is not None:
                words = one_line("".join(text for text, _ in place.parts))
                first.append(f"          {place.kind}: {words}")
        # Columns that a narrow terminal has no room for follow below.
        print_lines(*first, *lines[len(summaries) + 1 :], red=failed)
    print_remark(_counts(options, criteria, on_page=len(summaries), further=further))
    return 0


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


def _counts(options: Filter, criteria: SessionFilter, *, on_page: int, further: str | None) -> str:
    if on_page:
        rest = "" if further is None else f"; --after {further[:8]} shows the next"
        return f"{quantity(on_page, 'session')}{rest}."
    if options.after is not None:
        return "no session comes after that one."
    if criteria != EVERYTHING:
        return "no session is like that."
    return "there is no session yet; `run` or the app makes one."
