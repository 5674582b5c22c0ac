"""The prompt and the form of plan of a small Conductor, and which names it may write. Pure.

Training and serving build their texts here, so both are the same. Knows token ids; knows no model.

The plan names its workers rather than numbering them: a model of this size learns whom to ask, and does not
learn to look numbers up in pools of any order. The parser reads names in `model_id` as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

from conductor.planner.format import format_plan
from conductor.workflow.model import Workflow

WORKER_LIST = "model_id = ["
"""What every plan begins with; the names of workers follow."""

END_OF_WORKERS = "subtasks"
"""A token with this word ends the list of workers."""


def prompt_text(query: str, workers: Sequence[str]) -> str:
    """The query in one line and the pool in another; the plan follows."""
    return f"{question_text(query)}Workers: {', '.join(workers)}\n"


def question_text(query: str) -> str:
    """The prompt's first line."""
    return f"Question: {' '.join(query.split())}\n"


def plan_text(workflow: Workflow) -> str:
    """The plan as a small Conductor writes it: three lists, workers by name."""
    return format_plan(workflow, [step.worker for step in workflow.steps], form="names")


@dataclass(frozen=True)
class NameMask:
    """Keeps a small Conductor from naming workers that the pool does not have, token by token.

    `first` are the tokens with which each known worker's name begins, in a list's first place and behind a
    comma. `ends` are the tokens that end the list of workers: from there on nothing is forbidden.
    """

    first: Mapping[str, frozenset[int]]
    ends: frozenset[int]

    @classmethod
    def of(cls, tokenizer: Tokenizer, names: Sequence[str]) -> NameMask:
        """The mask for a vocabulary and the `names` that its model was trained with."""
        first = {
            name: frozenset(
                tokenizer.encode(text, add_special_tokens=False).ids[0] for text in (name, f" {name}")
            )
            for name in names
        }
        size = tokenizer.get_vocab_size()
        return cls(first, frozenset(at for at in range(size) if END_OF_WORKERS in tokenizer.decode([at])))

    def forbidden(self, offered: Sequence[str]) -> frozenset[int]:
        """The tokens that no plan may have before the list of workers ends, for a pool with these names."""
        allowed = frozenset[int]().union(*(self.first[name] for name in offered if name in self.first))
        absent = (tokens for name, tokens in self.first.items() if name not in offered)
        return frozenset[int]().union(*absent) - allowed
