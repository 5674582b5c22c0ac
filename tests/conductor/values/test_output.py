"""An empty output states what its tokens were used for."""

from __future__ import annotations

import pytest

from conductor.values.messages import FinishReason, Usage
from conductor.values.output import Output


@pytest.mark.parametrize(
    ("reasoning", "tokens", "finish", "words"),
    [
        ("", 0, "stop", "Its worker answered with nothing."),
        (
            "perhaps",
            100,
            "length",
            "100 tokens long, and gave no answer. Its tokens were used up (finish reason",
        ),
        ("", 1000, "length", "1,000 tokens long"),
        ("perhaps", None, "stop", "Its worker only thought, 7 characters long, and gave no answer."),
    ],
)
def test_an_empty_output_names_its_finish_reason_and_its_thoughts(
    reasoning: str, tokens: int | None, finish: FinishReason, words: str
) -> None:
    output = Output(
        fingerprint="f",
        text="",
        reasoning=reasoning,
        worker="a",
        worker_kind="model",
        usage=Usage(completion_tokens=tokens),
        seconds=1,
        finish_reason=finish,
        run="r",
        step=0,
    )
    assert words in output.silence
