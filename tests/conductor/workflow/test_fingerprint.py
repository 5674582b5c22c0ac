"""A step's address changes with all that its worker is sent, and with nothing else."""

from __future__ import annotations

import pytest

from conductor.values.message_parts.images import Image
from conductor.values.messages import Message, Part, Request, Sampling
from conductor.workflow.fingerprint import fingerprint, outline_of

UNSET = Sampling()


def sent(*texts: str, sampling: Sampling = UNSET, images: tuple[Image, ...] = ()) -> Request:
    parts = tuple(Part("frame", text) for text in texts)
    return Request((Message("user", parts, images=images),), sampling)


BASE = sent("why?", "said")


def address(request: Request, identity: str = "alpha", outline: str = "0" * 16) -> str:
    return fingerprint(request, identity=identity, outline=outline)


@pytest.mark.parametrize(
    "other",
    [
        sent("why?", "Said"),
        sent("why?", "said", ""),
        sent("why?sa", "id"),
        sent("why?"),
        sent("said", "why?"),
        sent("why?", "said", sampling=Sampling(temperature=0.0)),
        sent("why?", "said", sampling=Sampling(max_tokens=9)),
        sent("why?", "said", images=(Image(url="stored:a"),)),
        Request((Message("system", BASE.messages[0].parts),)),
        Request((Message("user", BASE.messages[0].parts, name="Ada"),)),
        Request((Message("user", BASE.messages[0].parts, thoughts='{"reasoning":"t"}'),)),
        sent("why?", "said", "", "thoughts", "t"),
        sent("why?", "said", sampling=Sampling(reasoning_effort="high")),
        Request((*BASE.messages, Message("user", ()))),
        Request(tuple(Message("user", (part,)) for part in BASE.messages[0].parts)),
        sent("why?", "said\ud800"),
    ],
)
def test_whatever_a_worker_is_sent_changes_the_address(other: Request) -> None:
    assert address(other) != address(BASE)


def test_another_worker_has_another_address() -> None:
    assert address(BASE, identity="beta") != address(BASE)


@pytest.mark.parametrize(
    "part",
    [Part("response", "said", 4), Part("response", "said", 0, "renamed"), Part("turn", "said", by_hand=True)],
)
def test_where_a_text_comes_from_changes_nothing(part: Part) -> None:
    assert address(Request((Message("user", (Part("frame", "why?"), part)),))) == address(BASE)


def test_no_text_passes_for_the_end_of_one_and_the_beginning_of_another() -> None:
    assert address(sent("1,2", "3"), identity="x") != address(sent("1", "2,3"), identity="x")
    assert address(sent("b"), identity="a") != address(sent(""), identity="ab")


def test_an_address_ends_with_its_outline_which_earlier_versions_did_not_have() -> None:
    assert address(BASE, outline="f" * 16).endswith("-" + "f" * 16)
    assert outline_of(address(BASE, outline="f" * 16)) == "f" * 16
    assert outline_of("0" * 64) is None
    assert outline_of("") is None
