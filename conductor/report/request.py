"""A request as it was sent, by its sources: a legend with their shares, the text in stretches. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conductor.text.formatting import counted, percent
from conductor.values.messages import Request
from conductor.values.output import WorkerKind
from conductor.values.provenance import Shares, Source, SourceKind, source_of
from conductor.workers.endpoint.tokens import request_shares

_TINTS = 8
"""Number of tints for steps; later steps reuse them, and their numbers distinguish them."""


_NAMES: Mapping[SourceKind, str] = {
    "system": "Instructions",
    "turn": "Conversation before",
    "query": "Query",
    "task": "Own task",
    "frame": "App's wording",
}


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A source by name with its share in percent of the text; `tone` names its tint."""

    name: str
    tone: str
    share: str
    width: float
    by_hand: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of the text with its source's tint; `name` where another source begins."""

    text: str
    tone: str
    name: str


@dataclass(frozen=True, slots=True)
class Sent:
    """A request; `size` is its length in words, with how it was counted."""

    size: str
    legend: tuple[LegendEntry, ...]
    stretches: tuple[Stretch, ...]


def sent(request: Request, *, kind: WorkerKind, reported: int | None) -> Sent:
    """The request that a worker of that kind was sent, whose endpoint `reported` so many tokens."""
    shares = request_shares(request, kind=kind, reported=reported)
    tones = _tones(shares)
    return Sent(
        size=_size(shares),
        legend=tuple(
            LegendEntry(
                name=_name(share.source),
                tone=tones[share.source],
                share=percent(share.part),
                width=100 * share.part,
                by_hand=share.by_hand,
            )
            for share in shares.shares
        ),
        stretches=_stretches(request, tones),
    )


def _stretches(request: Request, tones: dict[Source, str]) -> tuple[Stretch, ...]:
    found: list[Stretch] = []
    before: Source | None = None
    for message in request.messages:
        for part in message.parts:
            source = source_of(part)
            begins = source != before and source.kind != "frame" and bool(part.text)
            found.append(Stretch(part.text, tones[source], _name(source) if begins else ""))
            before = source if part.text else before
    return tuple(found)


def _tones(shares: Shares) -> dict[Source, str]:
    tones: dict[Source, str] = {}
    seen = 0
    for share in shares.shares:
        if share.source.kind == "step":
            seen += 1
            tones[share.source] = f"seen-{(seen - 1) % _TINTS + 1}"
        else:
            tones[share.source] = share.source.kind
    return tones


def _name(source: Source) -> str:
    if source.kind == "step" and source.step is not None:
        number = f"step {source.step + 1}"
        return f"Step {source.step + 1}" if source.round is None else f"Round {source.round}, {number}"
    return _NAMES.get(source.kind, "A step")


def _size(shares: Shares) -> str:
    total = counted(shares.total, shares.unit.removesuffix("s"))
    if shares.exact:
        return total
    return f"~{total}, estimated by length" if shares.reported is None else f"{total}, as the worker counted"
