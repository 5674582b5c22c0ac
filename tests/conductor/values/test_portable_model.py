"""Every text of every value is portable, whatever it is made of: each field of each class is looked at."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from pydantic import TypeAdapter

import conductor.evaluation
import conductor.planner
import conductor.runs
import conductor.values
import conductor.workers
import conductor.workflow
import storage
from conductor.evaluation.items import Item
from conductor.runs.events import EVENT, RunStarted, StepDelta, StepStarted
from conductor.values.conversation import Conversation, Turn
from conductor.values.message_parts.attached_file import AttachedFile
from conductor.values.message_parts.token_logprobs import TokenLogprob
from conductor.values.message_parts.tools import ToolCall
from conductor.values.messages import Message, Part, Request, SeenResponse
from conductor.values.note import Note
from conductor.values.output import Output
from conductor.values.portable_model import PortableModel
from conductor.workflow.model import Step, Workflow

CHARACTERS = {
    "\x00": "\ufffd",
    "\ud800": "\ufffd",
    "\ud83d\ude00": "😀",
    **{
        same: same
        for same in "\x1b\x07\x08\r\x7f\x85\x9b\u2028\u202e\u2066\ufeff\ufffd\ufffe\uffff\U0010ffff"
    },
}
"""Characters, and what they are in a value."""


def _modules(package: ModuleType) -> Iterator[str]:
    yield from (each.name for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."))


def _models() -> list[type[PortableModel]]:
    packages = (conductor.values, conductor.runs, conductor.workflow, conductor.evaluation, storage)
    for package in (*packages, conductor.planner, conductor.workers):
        for name in _modules(package):
            if "migrations" not in name and not name.endswith("__main__"):
                importlib.import_module(name)
    models, new = set(), [PortableModel]
    while new:
        new = [below for each in new for below in each.__subclasses__() if below not in models]
        models.update(new)
    return sorted(
        (each for each in models if each.__module__.startswith(("conductor.", "storage."))),
        key=lambda each: f"{each.__module__}.{each.__qualname__}",
    )


def _bare_texts(schema: Any) -> Iterator[Any]:
    """The parts of a schema that take a text as it is."""
    match schema:
        case {"type": "function-before", "function": {"function": function}}:
            if function.__module__ != PortableModel.__module__:
                yield from _bare_texts(schema["schema"])
        case {"type": "str" | "any"}:
            yield schema
        case dict():
            skipped = ("metadata", "default", "serialization", "config") if "type" in schema else ()
            for name, part in schema.items():
                if name not in skipped:
                    yield from _bare_texts(part)
        case list() | tuple():
            for part in schema:
                yield from _bare_texts(part)


def test_no_field_of_a_value_takes_a_text_as_it_is() -> None:
    models = _models()
    assert len(models) > 100
    for model in models:
        model.model_rebuild()
    bare = {model.__name__: list(_bare_texts(model.__pydantic_core_schema__)) for model in models}
    assert {name: parts for name, parts in bare.items() if parts} == {}


def _places(text: str) -> dict[str, Any]:
    """A value with the text in each of the places, by what the place is."""
    called = {"run": "r", "seq": 0, "at": 1.0, "step": 0}
    parts = Part("query", text), Part("response", text, step=0, worker=text)
    seen = SeenResponse(step=0, worker=text, instruction=text, response=text)
    output = Output(
        fingerprint=text,
        text=text,
        reasoning=text,
        worker=text,
        worker_kind="model",
        seconds=1.0,
        request_id=text,
        tool_calls=(ToolCall(id=f"c{text}", name="f", arguments=text),),
        logprobs=(TokenLogprob(text, -1.0, None),),
        left_out=(text,),
        run=text,
        step=0,
    )
    step = Step(instruction=f"a{text}", worker=f"a{text}", pin=output)
    return {
        "a piece": StepDelta(**called, text=text),
        "a request": StepStarted(
            **called,
            worker=text,
            worker_kind="model",
            fingerprint=text,
            request=Request((Message("user", parts),)),
        ),
        "an output": output,
        "an output by hand": output.model_copy(update={"text": text}),
        "a step": step,
        "a run": RunStarted(
            run=text, seq=0, at=1.0, query=text, workflow=Workflow.of([step]), previous=(seen,)
        ),
        "a conversation": Conversation(
            instructions=text,
            turns=(Turn(role="user", text=text, files=(AttachedFile(name=f"a{text}", text=text),)),),
        ),
        "a note": Note(id="n", part="output", quote=text, text=f"a{text}", author=text, created_at=1.0),
        "an item": Item(id=text, input=text, target=(text,), metadata={text: [text, {"deep": text}]}),
    }


@pytest.mark.parametrize("character", CHARACTERS, ids=lambda each: each.encode("unicode_escape").decode())
@pytest.mark.parametrize("place", list(_places("a")))
def test_a_character_is_the_same_in_a_value_and_in_its_json(place: str, character: str) -> None:
    value = _places(f"a{character}b")[place]
    assert value == _places(f"a{CHARACTERS[character]}b")[place]
    adapter: TypeAdapter[Any] = TypeAdapter(type(value))
    assert adapter.validate_json(adapter.dump_json(value)) == value


def test_an_event_that_an_earlier_version_wrote_is_read_as_it_is_written_now() -> None:
    stored = StepDelta(run="r", seq=0, at=1.0, step=0, text="a?b").model_dump_json()
    assert EVENT.validate_json(stored.replace("?", r"\u0000")) == EVENT.validate_json(
        stored.replace("?", "\ufffd")
    )
