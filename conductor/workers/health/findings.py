"""The findings of an examination of a worker, each with its sentence: what was found, and what to do about
it.

Values and sentences; sends no request.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Literal

from conductor.values.messages import Completion, Value
from conductor.workers.endpoint.catalogue import ServedModel

Check = Literal["key", "reachable", "model", "answer", "command", "start", "tools"]
"""The first four are of workers, the others of servers of tools."""

FindingState = Literal["well", "unsure", "failing", "skipped"]
"""Unsure is what may be meant so; skipped is what cannot be known as another check fails."""

_SUGGESTIONS = 4
_NAMES_COMPARED = 2000
_NAME_CHARACTERS = 80
_CHAT_MARK = re.compile(
    r"<\|im_(?:start|end)\|>|</?(?:start|end)_of_turn>|<\|(?:start|end)_header_id\|>|"
    r"<\|(?:system|user|assistant)\|>|\[/?INST\]"
)
"""What chat templates put around messages, which no model that knows chats writes."""


class HealthFinding(Value):
    """What one check found: in a `word` for tables, in a sentence, and what to do ("" where nothing is)."""

    check: Check
    state: FindingState
    word: str
    message: str
    advice: str = ""

    @property
    def sentence(self) -> str:
        return f"{self.message.rstrip('.')}; {self.advice}." if self.advice else self.message


class Health(Value):
    """What is known so far, `done` once nothing is to come.

    `first_token` is in seconds, from the request to the first word; a measure that is unknown is None.
    """

    findings: tuple[HealthFinding, ...] = ()
    first_token: float | None = None
    tokens_per_second: float | None = None
    done: bool = False

    @property
    def failing(self) -> bool:
        return any(finding.state == "failing" for finding in self.findings)

    @property
    def complaints(self) -> tuple[HealthFinding, ...]:
        """The findings that a person should act on."""
        return tuple(finding for finding in self.findings if finding.advice)

    def finding(self, check: Check) -> HealthFinding | None:
        """The finding of that check, or None if it was not made."""
        return next((finding for finding in self.findings if finding.check == check), None)

    def with_findings(self, *findings: HealthFinding, done: bool = False) -> Health:
        return self.model_copy(update={"findings": (*self.findings, *findings), "done": done})


# -- each check ----------------------------------------------------------------------------------------


def well(check: Check, word: str, message: str) -> HealthFinding:
    return HealthFinding(check=check, state="well", word=word, message=message)


def failing(check: Check, word: str, message: str, advice: str) -> HealthFinding:
    """A finding that makes the worker unusable."""
    return HealthFinding(check=check, state="failing", word=word, message=message, advice=advice)


def unsure(check: Check, word: str, message: str, advice: str = "") -> HealthFinding:
    """A finding that may be as it is meant."""
    return HealthFinding(check=check, state="unsure", word=word, message=message, advice=advice)


def skipped(check: Check, why: str) -> HealthFinding:
    """A check that another one's outcome makes pointless."""
    return HealthFinding(check=check, state="skipped", word="-", message=f"Not known: {why}.")


def listed(model_name: str, served: tuple[ServedModel, ...], *, context: int | None) -> HealthFinding:
    """How the endpoint's list names the model; `context` is the one in the pool file, in tokens."""
    match = next((model for model in served if model_name in _spellings(model.name)), None)
    if match is None:
        return unsure(
            "model",
            "not listed",
            f"{model_name} is not among the {len(served):,} models listed there",
            _other_names(model_name, [model.name for model in served]),
        )
    if match.context is not None and context is not None and match.context < context:
        return unsure(
            "model",
            "listed",
            f"{model_name} is served with a context of {match.context:,} tokens, "
            f"and the pool file states {context:,}",
            f"write context = {match.context} there",
        )
    size = "" if match.context is None else f", with a context of {match.context:,} tokens"
    return well("model", "listed", f"{model_name} is listed{size}.")


def answered(completion: Completion, *, limit: int) -> HealthFinding:
    if _CHAT_MARK.search(completion.text):
        return unsure(
            "answer",
            "no chat",
            "It answers with the marks of a chat template, as a base model does, which was taught no chats",
            "serve its instruct version, or with the chat template that it was trained with",
        )
    if completion.text.strip() or completion.reasoning.strip():
        return well("answer", "answers", "It answers.")
    if completion.finish_reason == "length":
        message = f"It answers; its first {limit} tokens were reasoning that is not shown."
        return well("answer", "answers", message)
    return unsure(
        "answer",
        "empty",
        "It answers with an empty text",
        "give it a step and look; where that stays empty, check model and extra in the pool file",
    )


def _spellings(name: str) -> tuple[str, ...]:
    """What a listed model may be called: Google lists a path, Ollama a tag that may be left out."""
    return name, name.removeprefix("models/"), name.removesuffix(":latest")


def _other_names(model_name: str, names: list[str]) -> str:
    if not names:
        return "load a model there"
    near = get_close_matches(model_name, names[:_NAMES_COMPARED], n=_SUGGESTIONS, cutoff=0.5)
    suggestions = ", ".join(repr(name[:_NAME_CHARACTERS]) for name in near or sorted(names)[:_SUGGESTIONS])
    return f"write the name as it is listed there, such as {suggestions}"
