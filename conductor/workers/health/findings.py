"""The findings of an examination of a worker, each with its sentence: what was found, and what to do about
it.

Values and sentences; sends no request.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Literal

from conductor.values.messages import Completion, Value
from conductor.workers.endpoint.wire import ServedModel

Check = Literal["key", "reachable", "model", "answer"]
FindingState = Literal["well", "unsure", "failing", "skipped"]
"""Unsure is what may be meant so; skipped is what cannot be known as another check fails."""

_NAMES_SHOWN = 4
_NAMES_COMPARED = 2000
_NAME_CHARACTERS = 80


class Finding(Value):
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

    `first_token` is in seconds, from the request to the first word; both measures are None where unknown.
    """

    findings: tuple[Finding, ...] = ()
    first_token: float | None = None
    tokens_per_second: float | None = None
    done: bool = False

    @property
    def failing(self) -> bool:
        return any(finding.state == "failing" for finding in self.findings)

    @property
    def complaints(self) -> tuple[Finding, ...]:
        """The findings that a person should act on."""
        return tuple(finding for finding in self.findings if finding.advice)

    def finding(self, check: Check) -> Finding | None:
        """What that check found, None where it was not made."""
        return next((finding for finding in self.findings if finding.check == check), None)

    def found(self, *findings: Finding, done: bool = False) -> Health:
        return self.model_copy(update={"findings": (*self.findings, *findings), "done": done})


# -- each check ----------------------------------------------------------------------------------------


def well(check: Check, word: str, message: str) -> Finding:
    return Finding(check=check, state="well", word=word, message=message)


def failing(check: Check, word: str, message: str, advice: str) -> Finding:
    """A finding that makes the worker unusable."""
    return Finding(check=check, state="failing", word=word, message=message, advice=advice)


def unsure(check: Check, word: str, message: str, advice: str = "") -> Finding:
    """A finding that may be as it is meant."""
    return Finding(check=check, state="unsure", word=word, message=message, advice=advice)


def skipped(check: Check, why: str) -> Finding:
    """A check that another one's outcome makes pointless."""
    return Finding(check=check, state="skipped", word="-", message=f"Not known: {why}.")


def listed(wanted: str, served: tuple[ServedModel, ...], *, context: int | None) -> Finding:
    """How the endpoint's list names the model; `context` is the one in the pool file, in tokens."""
    found = next((model for model in served if wanted in _spellings(model.name)), None)
    if found is None:
        return unsure(
            "model",
            "not listed",
            f"{wanted} is not among the {len(served):,} models listed there",
            _other_names(wanted, [model.name for model in served]),
        )
    if found.context is not None and context is not None and found.context < context:
        return unsure(
            "model",
            "listed",
            f"{wanted} is served with a context of {found.context:,} tokens, "
            f"and the pool file states {context:,}",
            f"write context = {found.context} there",
        )
    size = "" if found.context is None else f", with a context of {found.context:,} tokens"
    return well("model", "listed", f"{wanted} is listed{size}.")


def answered(completion: Completion, *, limit: int) -> Finding:
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


def _other_names(wanted: str, names: list[str]) -> str:
    if not names:
        return "load a model there"
    near = get_close_matches(wanted, names[:_NAMES_COMPARED], n=_NAMES_SHOWN, cutoff=0.5)
    shown = ", ".join(repr(name[:_NAME_CHARACTERS]) for name in near or sorted(names)[:_NAMES_SHOWN])
    return f"write the name as it is listed there, such as {shown}"
