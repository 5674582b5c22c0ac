"""A workflow's pictures as a pyvis network: what stands on each card, where it lies, how each edge runs.

Knows workflows, layouts and pyvis; knows no Streamlit and no run. Whoever draws tells the state of each
card as a `CardFace`. Texts are cut here, so that a text of any length costs the page little; they go to a
canvas or into text nodes only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from pyvis.network import Network

from conductor.layout import Layout
from conductor.step_state import StepStatus
from conductor.workflow import Workflow

CardStatus = StepStatus | Literal["stale", "thinking", "retrying"]
"""A step's state on its card; `stale` has an output and will run again all the same. A running step may be
`thinking`, with no word of its answer yet, or `retrying`: it gave nothing and waits to be asked again."""

CardChange = Literal["", "added", "removed", "moved", "edited"]
"""What is marked on a card where two workflows are compared; a step that was moved and edited is edited."""

EdgeChange = Literal["added", "removed"]
"""What is marked on an access where two workflows are compared."""

_READ = 2_000
"""Characters of an instruction that are looked at; no card shows more."""

_TITLE_WORDS = 6
_TITLE_LENGTH = 30
_REST_LENGTH = 160
_WORKER_LENGTH = 60
_REMARK_LENGTH = 120

_CLAUSE_END = re.compile(r"[.!?;:](?=\s|$)|[。！？；：]|,(?=\s)|\s[-–—](?=\s)")
_LOOSE_ENDS = frozenset(
    "a an and as at by each every for from in into is its of on or per so "
    "that the then this to using which with".split()
)
"""Words a title does not end with when it had to be cut inside a clause."""


@dataclass(frozen=True, slots=True)
class CardFace:
    """What a card shows. `mark` is what stood between title and body, for where they run on in one line;
    `note` is the short text at the foot, such as "1.9 s"; badges are a word or two. `remark` is what must be
    said of the answer and takes the body's place; `inside` names the workflow in the step, which can be
    opened. `change` is how the step differs from another workflow's.
    """

    title: str
    mark: str
    body: str
    worker: str
    status: CardStatus = "waiting"
    note: str = ""
    badges: tuple[str, ...] = ()
    remark: str = ""
    inside: str = ""
    change: CardChange = ""


def title_of(instruction: str) -> tuple[str, str, str]:
    """A title of at most six words, the mark behind it, and the text that follows.

    The title ends where the first clause does, else between words; white space is collapsed. Title and rest
    may be cut; the mark is "" between words, the rest "" when the title says everything.
    """
    text = " ".join(instruction[:_READ].split())
    end, resume = _clause(text)
    words = text[:end].split(" ")
    if len(words) > _TITLE_WORDS or end > _TITLE_LENGTH:
        end = resume = _cut_between_words(words)
    return text[:end], text[end:resume], text[resume:].strip()[:_REST_LENGTH]


def _clause(text: str) -> tuple[int, int]:
    """Where the first clause of at least two words ends and where the text goes on after its mark."""
    for mark in _CLAUSE_END.finditer(text):
        least = 2 if mark.group() == "," else 1
        words_before = text.count(" ", 0, mark.start())
        if words_before >= least or mark.group() in "。！？；：" or mark.end() == len(text):
            return mark.start(), mark.end()
    return len(text), len(text)


def _cut_between_words(words: Sequence[str]) -> int:
    """The length of as many whole words as a title holds; of one that is too long, as much as fits."""
    kept = list(words[:_TITLE_WORDS])
    while len(kept) > 1 and len(" ".join(kept)) > _TITLE_LENGTH:
        kept.pop()
    while len(kept) > 2 and kept[-1].lower() in _LOOSE_ENDS:
        kept.pop()
    return min(len(" ".join(kept)), _TITLE_LENGTH)


def draw(
    workflow: Workflow,
    faces: Sequence[CardFace],
    layouts: Sequence[Layout],
    *,
    changes: Mapping[tuple[int, int], EdgeChange] | None = None,
) -> Network:
    """The network of `workflow`: a custom-shaped node a step (id = position), an edge "from-to" an access.

    Nodes carry the face and where the card lies in each layout ([x, y, width, height], from its centre);
    edges carry their route in each, and what `changes` says of them by (read, reader). x and y are those of
    the first layout. Raises `ValueError` when there is no layout, or when faces or a layout belong to another
    number of steps.
    """
    cards = [len(layout.cards) for layout in layouts]
    if not cards or {len(workflow)} != {len(faces), *cards}:
        raise ValueError(f"{len(workflow)} steps cannot be drawn with {len(faces)} faces and {cards} cards.")
    network = Network(directed=True, cdn_resources="in_line")
    network.options = {"physics": {"enabled": False}, "layout": {"improvedLayout": False}}
    for step, face in enumerate(faces):
        trimmed = _trimmed(face)
        places = [layout.cards[step] for layout in layouts]
        network.add_node(
            step,
            label=f"{step + 1}. {trimmed['title']}",
            shape="custom",
            x=places[0].x,
            y=places[0].y,
            places=[[card.x, card.y, card.width, card.height] for card in places],
            face=trimmed,
        )
    for read, reader in layouts[0].routes:
        routes = [[list(point) for point in layout.routes[read, reader]] for layout in layouts]
        change = (changes or {}).get((read, reader), "")
        network.add_edge(read, reader, id=f"{read}-{reader}", routes=routes, change=change)
    return network


def _trimmed(face: CardFace) -> dict[str, object]:
    """A face as JSON with every text short and on one line."""
    return asdict(face) | {
        "title": _line(face.title, _TITLE_LENGTH * 2),
        "mark": (" " if face.mark[:1].isspace() else "") + _line(face.mark, 1),
        "body": _line(face.body, _REST_LENGTH),
        "worker": _line(face.worker, _WORKER_LENGTH),
        "note": _line(face.note, _WORKER_LENGTH),
        "badges": [_line(badge, _WORKER_LENGTH) for badge in face.badges],
        "remark": _line(face.remark, _REMARK_LENGTH),
        "inside": _line(face.inside, _WORKER_LENGTH),
    }


def _line(text: str, length: int) -> str:
    return " ".join(text[:_READ].split())[:length]
