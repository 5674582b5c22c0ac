"""The texts of the research layout as templates, and how their slots are filled. Knows no layout."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from hashlib import sha256
from pathlib import Path
from string import Formatter

from conductor.values.messages import Part

SLOTS: Mapping[str, frozenset[str]] = {
    "plan": frozenset(("max_number_or_routing_steps", "user_question", "available_models")),
    "model": frozenset(("i",)),
    "later": frozenset(("worker_response", "max_number_of_routing_steps")),
    "task": frozenset(("user_content",)),
    "before_step": frozenset(("model_id", "subtask", "response")),
    "seen": frozenset(("model_id", "prev_subtask", "agent_output")),
    "own": frozenset(("subtask",)),
}
"""The slots that each template has, by the names that the research code gives them."""

_TAG = re.compile(r"</?[A-Za-z][^<>\n]*>")
_UNSEEN = "\u200b"


@dataclass(frozen=True, slots=True)
class Wording:
    """Templates for `str.format`.

    A Conductor is sent `system`, `plan` with a line `model` for each worker, and `prefill` as the beginning
    of its own answer; a later round adds `later`. A worker is sent `task`, `before` and `before_step` for the
    round before, `seen` for each step that it sees, `own`, and `begin` as the beginning of its answer.
    `origin` is the checkout that the texts are from, "" for ours.
    """

    system: str
    plan: str
    model: str
    prefill: str
    later: str
    task: str
    before: str
    before_step: str
    seen: str
    own: str
    begin: str
    origin: str = ""

    @property
    def digest(self) -> str:
        """12 hexadecimal digits over the texts, wherever they are from."""
        return sha256("\x1f".join(astuple(self)[:-1]).encode()).hexdigest()[:12]

    def defused(self, text: str) -> str:
        """`text` in which none of the worker's tags can open or close: a zero-width space stands in them."""
        frames = "".join((self.task, self.before_step, self.seen))
        for tag in sorted({_name(tag) for tag in _TAG.findall(frames)}):
            text = re.sub(rf"<(?=/?{tag}>)", f"<{_UNSEEN}", text)
        return text


def _name(tag: str) -> str:
    """An expression for what stands in a tag, whichever agent it names."""
    return re.sub(r"\\{\w+\\}", r"\\d+", re.escape(tag.strip("</>")))


def filled(template: str, **slots: str | Part | Sequence[Part]) -> Iterator[Part]:
    """The parts of a template: its own words and the slots that are texts as frames, others as they are."""
    frame = ""
    for words, slot, _, _ in Formatter().parse(template):
        frame += words
        if slot is None:
            continue
        value = slots[slot]
        if isinstance(value, str):
            frame += value
            continue
        if frame:
            yield Part("frame", frame)
        frame = ""
        yield from (value,) if isinstance(value, Part) else value
    if frame:
        yield Part("frame", frame)


OURS = Wording(**tomllib.loads(Path(__file__).with_name("research.toml").read_text(encoding="utf-8")))
