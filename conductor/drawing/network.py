"""A workflow's pictures as a pyvis network: the text of each card, its place, the route of each edge.

Knows workflows, layouts and pyvis; knows no Streamlit and no run. The caller gives the state of each card as
a `CardContent`. Texts are cut here, so that a text of any length costs the page little; they are drawn on a
canvas or put into text nodes only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from pyvis.network import Network

from conductor.drawing.layout import Layout
from conductor.drawing.marks import Mark
from conductor.runs.step_state import StepStatus
from conductor.workflow.diff import EdgeChange
from conductor.workflow.model import Workflow

CardStatus = StepStatus | Literal["stale", "thinking", "retrying"]
"""A step's state on its card; `stale` has an output and will still run again. A running step may be
`thinking`, before the first word of its answer, or `retrying`: it got nothing and waits to call again."""

CardChange = Literal["", "added", "removed", "moved", "edited"]
"""What is marked on a card where two workflows are compared; a step that was moved and edited is edited."""

_READ = 2_000
"""Characters of an instruction that are looked at; no card shows more."""

_TITLE_WORDS = 6
_TITLE_LENGTH = 30
_REST_LENGTH = 160
_WORKER_LENGTH = 60
_REMARK_LENGTH = 120

_CLAUSE_END = re.compile(r"[.!?;:](?=\s|$)|[。！？；：]|,(?=\s)|\s[-–—](?=\s)")
_LOOSE_ENDS = frozenset(
    "a about after against all among an and any are as at before between but by during each every first for "
    "from how if in into is its of on or over per so than that the their then these this those through to "
    "under until using was what when where whether which who whose why with within without your".split()
)
"""Words a title does not end with when it had to be cut inside a clause."""


@dataclass(frozen=True, slots=True)
class CardContent:
    """What a card shows. `body` is what the instruction has beside its title; `note` is the short text at the
    foot, such as "1.9 s", `figures` are more of the kind, the most important first; badges are a word or two.
    `excerpt`, in place of the body, is the beginning of the output, or its latest line where it `streams`.
    `gives` is that output as an edge carries it to a step that reads it, in a few words.
    `remark` is a warning about the answer; `inside` names the workflow in the step, which can be opened.
    `change` is how the step differs from another workflow's; `gate`: a run waits before the step. `mark` is
    the worker's. `steps` are those that the card stands for, its own last: () for a step to come, None for
    the one at the card's place. `branch` counts the steps of the branch that ends in it.
    """

    title: str
    body: str
    worker: str
    status: CardStatus = "waiting"
    note: str = ""
    figures: tuple[str, ...] = ()
    badges: tuple[str, ...] = ()
    excerpt: str = ""
    streams: bool = False
    gives: str = ""
    remark: str = ""
    inside: str = ""
    change: CardChange = ""
    gate: bool = False
    mark: Mark | None = None
    steps: tuple[int, ...] | None = None
    branch: int = 1


def title_of(instruction: str) -> tuple[str, str, str]:
    """A title of at most six words, the mark behind it, and the text that follows.

    The title ends where the first clause does, else between words; white space is collapsed. Title and rest
    may be cut; the mark is "" between words, the rest "" when the title is the whole text.
    """
    text = " ".join(instruction[:_READ].split())
    end, resume = _clause(text)
    words = text[:end].split(" ")
    if len(words) > _TITLE_WORDS or end > _TITLE_LENGTH:
        end = resume = _cut_between_words(words)
    return text[:end], text[end:resume], text[resume:].strip()[:_REST_LENGTH]


def _clause(text: str) -> tuple[int, int]:
    """Where the first clause of at least two words ends and where the text after its mark begins."""
    for mark in _CLAUSE_END.finditer(text):
        least = 2 if mark.group() == "," else 1
        words_before = text.count(" ", 0, mark.start())
        if words_before >= least or mark.group() in "。！？；：" or mark.end() == len(text):
            return mark.start(), mark.end()
    return len(text), len(text)


def _cut_between_words(words: Sequence[str]) -> int:
    """The length of as many whole words as a title holds; of one that is too long, as much as fits."""
    title_words = list(words[:_TITLE_WORDS])
    while len(title_words) > 1 and len(" ".join(title_words)) > _TITLE_LENGTH:
        title_words.pop()
    while len(title_words) > 2 and title_words[-1].lower() in _LOOSE_ENDS:
        title_words.pop()
    return min(len(" ".join(title_words)), _TITLE_LENGTH)


def draw(
    workflow: Workflow,
    contents: Sequence[CardContent],
    layouts: Sequence[Layout],
    *,
    changes: Mapping[tuple[int, int], EdgeChange] | None = None,
) -> Network:
    """The network of `workflow`: a custom-shaped node a step (id = position), an edge "from-to" an access.

    Nodes carry the content and where the card lies in each layout ([x, y, width, height], from its centre);
    edges carry their route in each, and their entry of `changes` by (read, reader). x and y are those of the
    first layout. Raises `ValueError` when there is no layout, or when `contents` or a layout has another
    number of steps.
    """
    cards = [len(layout.cards) for layout in layouts]
    if not cards or {len(workflow)} != {len(contents), *cards}:
        raise ValueError(
            f"{len(workflow)} steps cannot be drawn with {len(contents)} contents and {cards} cards."
        )
    network = Network(directed=True, cdn_resources="in_line")
    network.options = {"physics": {"enabled": False}, "layout": {"improvedLayout": False}}
    for step, content in enumerate(contents):
        trimmed = _trimmed(content)
        places = [layout.cards[step] for layout in layouts]
        network.add_node(
            step,
            label=f"{step + 1}. {trimmed['title']}",
            shape="custom",
            x=places[0].x,
            y=places[0].y,
            places=[[card.x, card.y, card.width, card.height] for card in places],
            content=trimmed,
        )
    for read, reader in layouts[0].routes:
        routes = [[list(point) for point in layout.routes[read, reader]] for layout in layouts]
        change = (changes or {}).get((read, reader), "")
        network.add_edge(read, reader, id=f"{read}-{reader}", routes=routes, change=change)
    return network


def _trimmed(content: CardContent) -> dict[str, object]:
    """A content as JSON with every text short and on one line."""
    return asdict(content) | {
        "title": _line(content.title, _TITLE_LENGTH * 2),
        "body": _line(content.body, _REST_LENGTH),
        "worker": _line(content.worker, _WORKER_LENGTH),
        "note": _line(content.note, _WORKER_LENGTH),
        "figures": [_line(figure, _WORKER_LENGTH) for figure in content.figures],
        "badges": [_line(badge, _WORKER_LENGTH) for badge in content.badges],
        "excerpt": _line(content.excerpt, _REST_LENGTH),
        "gives": _line(content.gives, _WORKER_LENGTH),
        "remark": _line(content.remark, _REMARK_LENGTH),
        "inside": _line(content.inside, _WORKER_LENGTH),
    }


def _line(text: str, length: int) -> str:
    return " ".join(text[:_READ].split())[:length]
