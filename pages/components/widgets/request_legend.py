"""A request by its sources: a legend entry for each, the text in stretches, and how its tokens were counted.

Pure: knows a request and its shares; knows neither runs nor Streamlit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conductor.report.words import source_name
from conductor.runs.step_state import StepState
from conductor.text.formatting import percent, quantity
from conductor.values.message_parts.tool_use import ToolUse
from conductor.values.messages import PartKind, Request
from conductor.values.output import WorkerKind
from conductor.values.provenance import Share, Shares, Source, SourceKind
from conductor.values.request_pieces import request_pieces
from pages.components.view_models.run_text import kind_notes
from pages.components.widgets.text_block import LegendEntry, Stretch, Tone

UNREPORTED = "the endpoint reported no number"
"""The note on an estimate without a number to compare it with."""

Place = tuple[int | None, int | None]
"""A step that was seen: its round (None for the same one, else from 1) and its position (from 0)."""

_TINTS: tuple[Tone, ...] = (
    "seen-1", "seen-2", "seen-3", "seen-4", "seen-5", "seen-6", "seen-7", "seen-8",
)  # fmt: skip
"""For steps in the order sent; after the last they repeat, distinguished by their numbers."""

_CHIPS: Mapping[PartKind, str] = {
    "system": "Instructions",
    "turn": "Earlier message",
    "query": "Query",
    "subtask": "its task",
    "response": "response",
    "instruction": "Own task",
    "frame": "",
}

_MARKS: Mapping[SourceKind, str] = {"system": "I", "turn": "C", "query": "Q", "task": "T", "tool": "TC"}


def legend(shares: Shares, origins: Mapping[Place, tuple[str, ...]]) -> tuple[LegendEntry, ...]:
    """An entry a source, in the order of the shares; `origins` are notes on steps' outputs."""
    tones = _tones(shares)
    return tuple(
        LegendEntry(
            name=source_name(share.source),
            mark=_mark(share.source),
            tone=tones[share.source],
            part=share.part,
            amount=f"{'' if shares.exact else '~'}{share.amount:,}",
            percent=percent(share.part),
            unit=shares.unit,
            detail=share.source.worker or "",
            notes=_notes(share, origins),
        )
        for share in shares.shares
    )


def stretches(request: Request, shares: Shares, uses: Sequence[ToolUse] = ()) -> tuple[Stretch, ...]:
    """The text as sent, each part tinted as its source is in the legend; `uses`: see `request_pieces`."""
    tones = _tones(shares)
    at = {share.source: place for place, share in enumerate(shares.shares)}
    pieces = []
    for piece in request_pieces(request, uses):
        source, chip = piece.source, piece.title
        if not chip and piece.part is not None:
            chip = _CHIPS[piece.part.kind]
        if source.kind == "step":
            chip = f"{source_name(source)} · {chip}"
        title = f"{chip}, by {source.worker}" if source.worker else chip
        chip = chip if piece.text or piece.title else ""
        # A call without a result has no share.
        pieces.append(Stretch(piece.text, tones.get(source, "tool"), title, at.get(source), chip))
    return tuple(pieces)


def count_method(shares: Shares, kind: WorkerKind, *, unreported: str = UNREPORTED) -> str:
    """The whole in one sentence or two, and how it was counted: by a worker of that `kind`, or not at all.

    `unreported` is why the endpoint reported no number, where it did not.
    """
    total = quantity(shares.total, shares.unit.removesuffix("s"))
    if shares.unit == "characters":
        return f"{total}. A worker that computes reads text, not tokens."
    if not shares.exact:
        if shares.reported is None:
            return f"~{total}, estimated by length; {unreported}."
        return f"{total}, as the endpoint counted; the split is estimated by length."
    if kind == "simulated":
        return f"{total}, counted as words by the simulated worker."
    return f"{total} of text, by the model's tokenizer. {_against_reported(shares)}".strip()


def _against_reported(shares: Shares) -> str:
    if shares.reported is None:
        return ""
    more = shares.reported - shares.total
    if more < 0:
        return f"The endpoint counted only {shares.reported:,}. Is this the model's tokenizer?"
    if not more:
        return "The endpoint counted the same."
    return f"The endpoint counted {shares.reported:,}, {more:,} more for its chat format."


def origin_notes(state: StepState) -> tuple[str, ...]:
    """The notes on a step's output that another step was sent."""
    output = state.output
    return (
        *([] if state.kept_because is None else [str(state.kept_because)]),
        *([state.reuse] if state.reuse else []),
        *kind_notes(state.worker_kind),
        *([] if output is None or output.instead_of is None else [f"in place of {output.instead_of}"]),
        *(["cut off"] if state.cut_off else []),
    )


def _notes(share: Share, origins: Mapping[Place, tuple[str, ...]]) -> tuple[str, ...]:
    notes = origins.get((share.source.round, share.source.step), ()) if share.source.kind == "step" else ()
    return (*(["edited by hand"] if share.by_hand else []), *notes)


def _mark(source: Source) -> str:
    if source.kind == "step" and source.step is not None:
        return f"{source.step + 1}" if source.round is None else f"{source.round}·{source.step + 1}"
    return _MARKS.get(source.kind, "")


def _tones(shares: Shares) -> dict[Source, Tone]:
    tones: dict[Source, Tone] = {}
    steps = 0
    for share in shares.shares:
        match share.source.kind:
            case "query" | "turn":
                # Both are the user's words; their names and marks distinguish them.
                tones[share.source] = "query"
            case "task" | "system":
                tones[share.source] = "task"
            case "tool":
                tones[share.source] = "tool"
            case "frame":
                tones[share.source] = "quiet"
            case "step":
                tones[share.source] = _TINTS[steps % len(_TINTS)]
                steps += 1
    return tones
