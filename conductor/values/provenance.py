"""The provenance of a request: the source of each of its words, and what differs between two requests.

Pure; knows requests only. How a worker's tokens are counted is passed in; who counts how is request_shares'.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from conductor.values.messages import Message, Part, PartKind, Request

SourceKind = Literal["system", "turn", "query", "step", "task", "tool", "frame"]
Unit = Literal["tokens", "characters"]
Count = Callable[[Sequence[str]], Sequence[int]]
"""How many tokens each of the texts of one message takes, which follow one another."""

LIKELY_CHARACTERS = 4
"""Characters a token in most prose: the base of an estimate."""

_KINDS: Mapping[PartKind, SourceKind] = {
    "system": "system",
    "turn": "turn",
    "query": "query",
    "subtask": "step",
    "response": "step",
    "instruction": "task",
    "frame": "frame",
}
_ORDER = {kind: at for at, kind in enumerate(get_args(SourceKind))}

_MARK = re.compile(
    r"(?<=<)(/?(?:instructions|conversation|user|assistant|tool|overall_task|step|subtask|response))-[0-9a-f]+\b"
)
"""What our tags carry, so that no response can forge one; another one in each request."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where words come from: the instructions for the answer, the conversation before the query, the query,
    an earlier step, the step's own task, the calls of tools with their results, or our wording around them.

    `step` (0-based) and `worker` are set for a step, `round` (from 1) for one of an earlier round.
    """

    kind: SourceKind
    step: int | None = None
    round: int | None = None
    worker: str | None = None


TOOLS = Source("tool")
"""The calls of tools with their results."""


@dataclass(frozen=True, slots=True)
class Share:
    """What a source takes of a request: `amount` in the unit of its `Shares`, `part` of all from 0 to 1.

    `by_hand`: a person wrote the response of this step.
    """

    source: Source
    amount: int
    part: float
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class Shares:
    """A request by its sources: the query, earlier steps in the order sent, the own task, calls of tools, our
    wording.

    `exact`: the amounts are counted, not estimated. `reported` is how many tokens the endpoint reports to
    have read, with those that its chat format adds; None if it reports nothing.
    """

    shares: tuple[Share, ...]
    unit: Unit
    exact: bool
    reported: int | None = None

    @property
    def total(self) -> int:
        return sum(share.amount for share in self.shares)


def source_of(part: Part, message: Message) -> Source:
    """Where a part of the message comes from."""
    if message.role == "tool" or message.tool_calls:
        return TOOLS
    kind = _KINDS[part.kind]
    if kind != "step":
        return Source(kind)
    return Source("step", step=part.step, round=part.round, worker=part.worker)


def exact_shares(request: Request, count: Count, *, reported: int | None = None) -> Shares:
    """The shares in tokens, as `count` counts them."""
    amounts: list[int] = []
    for message in request.messages:
        amounts += count([part.text for part in message.parts])
    return _shares(request, amounts, unit="tokens", exact=True, reported=reported)


def estimated_shares(request: Request, *, reported: int | None = None) -> Shares:
    """The shares in tokens by their length; together what the endpoint `reported`, else a rule of thumb."""
    lengths = [len(part.text) for _, part in _parts(request)]
    total = -(-sum(lengths) // LIKELY_CHARACTERS) if reported is None else reported
    by_source = _shares(request, lengths, unit="tokens", exact=False, reported=reported)
    amounts = _apportioned(total, [share.amount for share in by_source.shares])
    shares = [replace(share, amount=n) for share, n in zip(by_source.shares, amounts, strict=True)]
    return replace(by_source, shares=tuple(shares))


def measured(request: Request) -> Shares:
    """The shares in characters, for a reader that knows no tokens."""
    lengths = [len(part.text) for _, part in _parts(request)]
    return _shares(request, lengths, unit="characters", exact=True, reported=None)


def _parts(request: Request) -> list[tuple[Message, Part]]:
    return [(message, part) for message in request.messages for part in message.parts]


def _shares(
    request: Request, amounts: Iterable[int], *, unit: Unit, exact: bool, reported: int | None
) -> Shares:
    sums: dict[Source, int] = {}
    by_hand: set[Source] = set()
    for (message, part), amount in zip(_parts(request), amounts, strict=True):
        source = source_of(part, message)
        sums[source] = sums.get(source, 0) + amount
        if part.by_hand:
            by_hand.add(source)
    whole = sum(sums.values())
    shares = (
        Share(source=source, amount=amount, part=amount / whole if whole else 0.0, by_hand=source in by_hand)
        for source, amount in sorted(sums.items(), key=lambda item: _ORDER[item[0].kind])
    )
    return Shares(tuple(shares), unit=unit, exact=exact, reported=reported)


def _apportioned(total: int, weights: Sequence[int]) -> list[int]:
    """Whole numbers in proportion to `weights` that sum to `total`: the largest remainders are rounded up."""
    whole = sum(weights)
    if not whole:
        return [0 for _ in weights]
    amounts = [total * weight // whole for weight in weights]
    largest = sorted(range(len(weights)), key=lambda at: -(total * weights[at] % whole))
    for at in largest[: total - sum(amounts)]:
        amounts[at] += 1
    return amounts


# -- two requests of one step ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a source between two requests: `old` is None if it is new, `new` if it is gone.

    `changed` are the kinds of its parts whose words differ, `same` those whose words do not.
    """

    old: Source | None
    new: Source | None
    changed: tuple[PartKind, ...] = ()
    same: tuple[PartKind, ...] = ()

    @property
    def any(self) -> bool:
        return self.old is None or self.new is None or bool(self.changed)


def changes(old: Request, new: Request, *, places: Mapping[int, int] | None = None) -> tuple[Change, ...]:
    """What became of each source, those of the `new` request first.

    `places` gives the new position of the old request's steps, where steps were renumbered. Our own wording
    is included only where nothing else differs, because it follows from the rest.
    """
    before = {_key(source, places): (source, texts) for source, texts in _texts(old).items()}
    after = {_key(source, None): (source, texts) for source, texts in _texts(new).items()}
    differences = []
    for key in (*after, *(key for key in before if key not in after)):
        was, old_texts = before.get(key, (None, {}))
        now, new_texts = after.get(key, (None, {}))
        kinds = dict.fromkeys((*new_texts, *old_texts))
        changed = tuple(kind for kind in kinds if old_texts.get(kind) != new_texts.get(kind))
        same = tuple(kind for kind in kinds if kind not in changed)
        differences.append(Change(old=was, new=now, changed=changed, same=same))
    if not any(change.any for change in differences) and without_nonces(old) != without_nonces(new):
        frame = Source("frame")
        differences.append(Change(old=frame, new=frame, changed=("frame",)))
    return tuple(differences)


def without_nonces(request: Request) -> str:
    """The whole text as sent, without the nonces in our tags, which carry no meaning."""
    return "".join(
        _MARK.sub(r"\1", part.text) if part.kind == "frame" else part.text for _, part in _parts(request)
    )


def _key(source: Source, places: Mapping[int, int] | None) -> tuple[object, ...]:
    step = source.step
    if places is not None and step is not None and source.round is None:
        # A step without a new place is gone; its old number may be another's by now.
        moved = places.get(step)
        return (source.kind, None, ("gone", step) if moved is None else moved)
    return (source.kind, source.round, step)


def _texts(request: Request) -> dict[Source, dict[PartKind, str]]:
    by_source: dict[Source, dict[PartKind, str]] = {}
    for message, part in _parts(request):
        if part.kind != "frame":
            texts = by_source.setdefault(source_of(part, message), {})
            texts[part.kind] = texts.get(part.kind, "") + part.text
    return by_source
