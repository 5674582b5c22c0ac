"""`sessions list` and `sessions search`: which sessions there are, by what is asked of them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time
from typing import Any, get_args

from conductor.commands.session_choice import stored
from conductor.commands.settings import positive, whole
from conductor.commands.shapes import Shape
from conductor.commands.table import UNKNOWN, amount, moment, one_line, table
from conductor.workflow import Topology
from storage import SessionState, SessionSummary
from storage.session_filter import EVERYTHING, SessionFilter
from storage.snippet import Snippet

_HEADINGS = ("id", "state", "updated", "shape", "steps", "tokens", "title")
_RIGHT = (4, 5)
_STATES = tuple(state for part in get_args(SessionState) for state in get_args(part) or (part,))


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register both."""
    listing = commands.add_parser("list", parents=parents, help="list sessions, last updated first")
    search = commands.add_parser("search", parents=parents, help="find sessions by their words")
    search.add_argument(
        "words",
        nargs="+",
        metavar="WORDS",
        help='what titles, queries, instructions and answers say; all of it, "in quotes" as a phrase',
    )
    for parser in (listing, search):
        _add_filters(parser)
        parser.add_argument("--limit", type=positive, default=50, metavar="N", help="default: 50")
        parser.add_argument("--offset", type=_natural, default=0, metavar="N", help="leave out the first N")
        parser.set_defaults(command=_list, words=[])


def _add_filters(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "only sessions with", "of a repeated option one value is enough, of tags all"
    )
    group.add_argument(
        "--state", action="append", default=[], choices=_STATES, metavar="STATE", help=", ".join(_STATES)
    )
    group.add_argument(
        "--topology",
        action="append",
        default=[],
        choices=get_args(Topology),
        metavar="SHAPE",
        help=", ".join(get_args(Topology)),
    )
    group.add_argument("--worker", action="append", default=[], metavar="NAME")
    group.add_argument("--tag", action="append", default=[], metavar="TAG")
    group.add_argument(
        "--since", type=_first_moment, metavar="DAY", help="updated on this day (2026-11-01) or later"
    )
    group.add_argument("--until", type=_last_moment, metavar="DAY", help="updated on this day or earlier")
    group.add_argument(
        "--tokens", type=_range, default=(None, None), metavar="A..B", help="100..5000, 100.. or ..5000"
    )
    group.add_argument("--deleted", action="store_true", help="the deleted sessions in place of the others")


def filter_of(options: argparse.Namespace) -> SessionFilter:
    """What the options ask for."""
    least, most = options.tokens
    return SessionFilter(
        search=" ".join(options.words),
        states=tuple(options.state),
        topologies=tuple(options.topology),
        workers=tuple(options.worker),
        tags=tuple(options.tag),
        since=options.since,
        until=options.until,
        least_tokens=least,
        most_tokens=most,
        deleted=options.deleted,
    )


def _list(options: argparse.Namespace) -> int:
    asked = filter_of(options)
    with stored(options) as store:
        total = store.count_sessions(asked)
        found = store.sessions(asked, limit=options.limit, offset=options.offset)
        places = store.snippets([summary.id for summary in found], asked.search)
    if options.json:
        shapes = [
            _found_shape(summary, places) if asked.search else summary_shape(summary) for summary in found
        ]
        print(json.dumps({"sessions": shapes, "total": total, "offset": options.offset}))
        return 0
    if found:
        headings, *rows = table(_HEADINGS, [_row(summary) for summary in found], right=_RIGHT).split("\n")
        print(headings)
        for summary, row in zip(found, rows, strict=True):
            print(row)
            if summary.id in places:
                print(f"          {_place(places[summary.id])}")
    print(f"conductor: {_counts(options, shown=len(found), total=total)}", file=sys.stderr)
    return 0


def summary_shape(summary: SessionSummary) -> Shape:
    """A session as a list tells of it; times in Unix seconds, what is unknown null."""
    return summary.model_dump(mode="json")


def _found_shape(summary: SessionSummary, places: Mapping[str, Snippet]) -> Shape:
    """A `summary_shape` with the `snippet` that was found, null where that is in the title alone.

    `{"kind", "parts"}`: what text of the session it is, and its stretches, each with whether it matches.
    """
    place = places.get(summary.id)
    snippet = None if place is None else {"kind": place.kind, "parts": place.parts}
    return {**summary_shape(summary), "snippet": snippet}


def _place(snippet: Snippet) -> str:
    return f"{snippet.kind}: {one_line(''.join(text for text, _ in snippet.parts))}"


def _row(summary: SessionSummary) -> Sequence[str]:
    tags = "".join(f"  #{one_line(tag, 30)}" for tag in summary.tags)
    return (
        summary.id[:8],
        summary.state,
        moment(summary.updated_at),
        summary.topology or UNKNOWN,
        amount(summary.steps),
        amount(summary.tokens),
        one_line(summary.title, 60) + tags,
    )


def _counts(options: argparse.Namespace, *, shown: int, total: int) -> str:
    if not total:
        asks = filter_of(options) != EVERYTHING
        return "no session is like that." if asks else "there is no session yet; `run` or the app makes one."
    if shown == total:
        return f"{total:,} session{'' if total == 1 else 's'}."
    after = options.offset + shown
    rest = f"; --offset {after} shows the next" if shown and after < total else ""
    return f"{shown:,} of {total:,} sessions{rest}."


# -- arguments -------------------------------------------------------------------------------------


def _natural(text: str) -> int:
    return 0 if text == "0" else positive(text)


def _first_moment(text: str) -> float:
    return _moment(text, datetime.fromisoformat)


def _last_moment(text: str) -> float:
    return _moment(text, _end_of)


def _end_of(text: str) -> datetime:
    """The moment that was said, of a whole day its last."""
    said = datetime.fromisoformat(text)
    return said if len(text) > len("2026-11-01") else datetime.combine(said, time.max)


def _moment(text: str, read: Callable[[str], datetime]) -> float:
    """In Unix seconds, by this machine's clock where no zone is said."""
    try:
        return read(text).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no day; write it as 2026-11-01") from error


def _range(text: str) -> tuple[int | None, int | None]:
    least, dots, most = text.partition("..")
    if not dots:
        most = least
    ends = tuple(map(whole, (least, most)))
    wrong = any(said and end is None for said, end in zip((least, most), ends, strict=True))
    if wrong or ends == (None, None):
        raise argparse.ArgumentTypeError(f"{text!r} is no range; write 100..5000, 100.. or ..5000")
    return ends[0], ends[1]
