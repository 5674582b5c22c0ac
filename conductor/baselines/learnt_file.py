"""A file of what was learnt: JSON with a format and a version, read again only where it has changed.

Knows files and pydantic's models, not what they mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from conductor.errors import FormatError, PlanError
from conductor.files.named_file import read_bounded, replace_file
from conductor.text.bounded_value import json_value
from conductor.values.messages import Value
from conductor.workers.protocol import WorkerCard

MAX_BYTES = 64_000_000

L = TypeVar("L", bound=Value)


def write_learnt(learnt: Value, path: Path) -> None:
    """Write the file, in the place of one that is there. Raises `FormatError` where it cannot be written."""
    try:
        replace_file(path, (learnt.model_dump_json(indent=1) + "\n").encode())
    except OSError as error:
        raise FormatError(f"{path} cannot be written: {error.strerror}.") from error


def read_learnt(path: Path, model: type[L], *, what: str, command: str) -> L:
    """The value of `model` in this file; `what` it holds and the `command` that writes it are for messages.

    Raises `FormatError`, naming the file and what is wrong.
    """
    try:
        stamp = path.stat()
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}; write it with `{command}`.") from error
    learnt = _read(path, stamp.st_mtime_ns, stamp.st_size, model, what, command)
    assert isinstance(learnt, model)
    return learnt


@lru_cache(maxsize=32)
def _read(path: Path, _changed: int, _size: int, model: type[Value], what: str, command: str) -> Value:
    """The file as it was at that time: an evaluation reads it for every question."""
    content = read_bounded(path, most=MAX_BYTES, kind=f"a file of {what}")
    advice = f"name one that `{command}` wrote"
    try:
        document = json_value(content)
    except ValueError as error:
        raise FormatError(f"{path} holds no {what}: it is not JSON; {advice}.") from error
    own, version = (model.model_fields[name].default for name in ("format", "version"))
    if not isinstance(document, dict) or document.get("format") != own:
        raise FormatError(f"{path} holds no {what}: its format is not {own!r}; {advice}.")
    if document.get("version") != version:
        raise FormatError(
            f"{path} has version {str(document.get('version'))[:20]}, and this program reads version "
            f"{version}; write it again with `{command}`."
        )
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise FormatError(f"{path} is damaged: {first_fault(error)}; {advice}.") from error


def first_fault(error: ValidationError) -> str:
    """The first thing that is wrong, with its place."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]


# -- what it was learnt on -------------------------------------------------------------------------


def question_hash(question: str) -> str:
    return sha256(" ".join(question.split()).encode()).hexdigest()[:16]


def identity_hash(card: WorkerCard) -> str:
    return sha256(card.identity.encode()).hexdigest()[:16]


def places_offered(
    workers: Iterable[tuple[str, str]], cards: Iterable[WorkerCard], *, learner: str, again: str
) -> tuple[int, ...]:
    """Positions in `workers`, names with a hash of their identities, of those that are offered.

    Raises `PlanError` if no worker is offered, or if one of that name is not the worker that the `learner`
    learnt on; `again` is what to do then.
    """
    workers = tuple(workers)
    now = {card.name: identity_hash(card) for card in cards}
    for name, identity in workers:
        if now.get(name, identity) != identity:
            raise PlanError(
                f"{learner} was fitted on another pool: its worker {name!r} is not the one of now. {again}"
            )
    places = tuple(at for at, (name, _) in enumerate(workers) if name in now)
    if not places:
        names = ", ".join(dict(workers))
        raise PlanError(f"{learner} was fitted on another pool: none of {names} is offered. {again}")
    return places
