"""What is given out of an answer while it comes, by made-up streams of events."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.runs.events import (
    Event,
    RunFinished,
    RunOutcome,
    RunStarted,
    StepDelta,
    StepFinished,
    StepStarted,
)
from conductor.values.message_parts.token_logprobs import TokenLogprob
from conductor.values.messages import Request, Usage
from conductor.values.output import Output, WorkerKind
from studio.api.answers.answer import Answer, GivenTokens, StopSequences
from tests.support.runs.workflow_cases import workflow_of

UNKNOWN = Usage()


def run(
    *texts: str,
    round: int = 1,
    outcome: RunOutcome = "finished",
    answer_step: int | None = None,
    size: int = 3,
) -> list[Event]:
    """A run of a step after another, whose texts come in pieces of `size`; the last one ends as `outcome`."""
    id = f"r{round}"
    workflow = workflow_of(*((at - 1,) if at else () for at in range(len(texts))))
    events: list[Event] = [RunStarted(run=id, seq=0, at=0, query="q", workflow=workflow, round=round)]
    for at, text in enumerate(texts):
        events.append(started(id, at))
        events += [
            StepDelta(run=id, seq=0, at=0, step=at, text=text[start : start + size])
            for start in range(0, len(text), size)
        ]
        if outcome == "finished" or at < len(texts) - 1:
            events.append(finished(id, at, text))
    final = len(texts) - 1 if answer_step is None else answer_step
    spoken = outcome == "finished" and texts[final].strip()
    events.append(
        RunFinished(
            run=id,
            seq=0,
            at=0,
            outcome=outcome,
            answer=texts[final] if spoken else None,
            answer_step=final if spoken else None,
        )
    )
    return events


def started(id: str, at: int, kind: WorkerKind = "model") -> StepStarted:
    return StepStarted(
        run=id,
        seq=0,
        at=0,
        step=at,
        worker="w",
        worker_kind=kind,
        fingerprint="f",
        request=Request(messages=()),
    )


def finished(id: str, at: int, text: str, usage: Usage = UNKNOWN) -> StepFinished:
    output = Output(
        fingerprint="f", text=text, worker="w", worker_kind="model", usage=usage, seconds=1, run=id, step=at
    )
    return StepFinished(run=id, seq=0, at=0, step=at, output=output)


def sent_text_by(answer: Answer, events: list[Event]) -> str:
    return "".join(answer.add(event) for event in events)


@pytest.mark.slow
@given(
    texts=st.lists(st.text(" \nab"), min_size=1, max_size=3),
    rounds=st.integers(1, 3),
    size=st.integers(1, 5),
    live=st.booleans(),
)
def test_joined_it_is_the_answer(texts: list[str], rounds: int, size: int, live: bool) -> None:
    spoken = [at for at, text in enumerate(texts) if text.strip()]
    step = len(texts) - 1 if texts[-1].strip() else max(spoken, default=None)
    answer = Answer(rounds=rounds, live=live)
    sent_text = ""
    for round in range(1, rounds + 1):
        sent_text += sent_text_by(answer, run(*texts, round=round, answer_step=step, size=size))
    assert not answer.broken
    sent_text += answer.end()
    assert sent_text == answer.sent_text == (texts[step] if step is not None else "")


def test_a_round_that_may_be_followed_gives_nothing_out() -> None:
    answer = Answer(rounds=2)
    assert sent_text_by(answer, run("draft")) == ""
    assert sent_text_by(answer, run("better", round=2)) == "better"
    assert answer.end() == ""


def test_an_answer_that_stands_comes_in_one_piece() -> None:
    answer = Answer(rounds=2)
    assert sent_text_by(answer, run("draft")) == ""
    assert answer.end() == "draft"


def test_a_step_before_the_final_one_is_not_given_out() -> None:
    assert sent_text_by(Answer(rounds=1), run("secret", "told")) == "told"


def test_what_was_given_out_of_a_round_that_failed_cannot_be_taken_back() -> None:
    answer = Answer(rounds=2)
    sent_text_by(answer, run("draft"))
    assert sent_text_by(answer, run("half of", round=2, outcome="failed")) == "half of"
    assert answer.state.answer == "draft"
    assert answer.broken


@pytest.mark.parametrize("text", ["", "  \n"])
def test_nothing_but_space_is_no_part_of_another_answer(text: str) -> None:
    answer = Answer(rounds=2)
    sent_text_by(answer, run("draft"))
    assert sent_text_by(answer, run(text, round=2, outcome="failed")) == ""
    assert not answer.broken
    assert answer.end() == "draft"


# -- stop sequences --------------------------------------------------------------------------------


def fed(pieces: list[str], stops: list[str]) -> list[str]:
    sequences = StopSequences(stops)
    return [*(sequences.feed(piece) for piece in pieces), sequences.end()]


@pytest.mark.slow
@given(
    pieces=st.lists(st.text("ab\n", max_size=4), max_size=12),
    stops=st.lists(st.text("ab\n", min_size=1, max_size=4), max_size=4),
)
def test_the_pieces_do_not_matter(pieces: list[str], stops: list[str]) -> None:
    whole = "".join(pieces)
    ends = [at for stop in stops if (at := whole.find(stop)) >= 0]
    assert "".join(fed(pieces, stops)) == whole[: min(ends, default=len(whole))]


@pytest.mark.parametrize(
    ("pieces", "stops", "sent_text"),
    [
        (["one two"], [], ["one two", ""]),
        (["one E", "N", "D two"], ["END"], ["one ", "", "", ""]),
        (["one E", "N", " two"], ["END"], ["one ", "", "EN two", ""]),
        (["one EN"], ["END"], ["one ", "EN"]),
        (["aab", "x"], ["ab", "bx"], ["a", "", ""]),
        (["b\n", "\n"], ["\n", "b\n\n"], ["", "", ""]),
        (["b\n", "a"], ["\n", "b\n\n"], ["", "b", ""]),
        (["b\n"], ["\n", "b\n\n"], ["", "b"]),
    ],
)
def test_only_what_may_begin_a_stop_is_held_back(
    pieces: list[str], stops: list[str], sent_text: list[str]
) -> None:
    assert fed(pieces, stops) == sent_text


# -- log probabilities -----------------------------------------------------------------------------


@given(
    pieces=st.lists(st.text("ab\n", max_size=4), max_size=12),
    stops=st.lists(st.text("ab\n", min_size=1, max_size=4), max_size=4),
    cut=st.integers(0, 12),
)
def test_tokens_are_given_out_as_far_as_the_text_has_them_as_a_whole(
    pieces: list[str], stops: list[str], cut: int
) -> None:
    tokens = [TokenLogprob(piece, -0.5) for piece in pieces]
    sent_text = GivenTokens(stops)
    sent_text.add(tokens[:cut])
    start = sent_text.take()
    sent_text.end(tokens)
    assert start + sent_text.take() == sent_text.whole
    text = "".join(fed(pieces, stops))
    whole = [at for at in range(len(pieces) + 1) if len("".join(pieces[:at])) <= len(text)]
    assert "".join(token.token for token in sent_text.whole) == "".join(pieces[: whole[-1]])
