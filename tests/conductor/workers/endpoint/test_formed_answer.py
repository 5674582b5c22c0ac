"""A worker answers with the JSON that was asked for: asked once more with the reason, or an error."""

from __future__ import annotations

import pytest

from conductor.errors import AnswerFormError
from conductor.values.message_parts.response_format import ResponseFormat
from conductor.values.messages import Sampling
from conductor.workers.calculator.calculator_worker import Calculator
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.pool.fallback import FallbackWorker
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Price, Worker
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Workflow
from tests.support.endpoints.chat_cases import completed, endpoint, lines_of, request
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.worker_cases import played
from tests.support.runs.workflow_cases import workflow_of

FORM = ResponseFormat.of_schema(
    {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}, name="number"
)
OBJECT = ResponseFormat(type="json_object")


def worker(served: Served, model: str = "simulated", *, name: str = "alpha") -> OpenAIWorker:
    return OpenAIWorker(
        endpoint(served.base_url, model, retries=0), name=name, price=Price(prompt=1_000_000, completion=0)
    )


def reported(error: AnswerFormError) -> bool:
    """Whether the error has what its endpoint reported of the answer."""
    return error.used is not None and bool(error.used.prompt_tokens)


def asks_for_json() -> Workflow:
    return workflow_of((), (0,)).with_sampling(1, Sampling(response_format=FORM))


async def test_the_endpoint_is_sent_the_form_and_a_right_answer_is_the_answer(fake_openai: Served) -> None:
    fake_openai.fake.texts += ['{"n": 1}']
    completion = await completed(worker(fake_openai).stream(request(response_format=FORM)))
    assert completion.text == '{"n": 1}'
    assert (fake_openai.settled().body or {})["response_format"] == FORM.wire
    assert len(fake_openai.log.entries) == 1


async def test_the_pool_files_own_form_does_not_take_its_place(fake_openai: Served) -> None:
    fake_openai.fake.texts += ['{"n": 1}']
    own = endpoint(fake_openai.base_url, extra={"response_format": {"type": "text"}})
    await completed(OpenAIWorker(own, name="alpha").stream(request(response_format=FORM)))
    assert (fake_openai.settled().body or {})["response_format"] == FORM.wire


async def test_a_wrong_answer_is_withdrawn_and_asked_for_again_with_the_reason(fake_openai: Served) -> None:
    fake_openai.fake.texts += ['{"m": 1}', '{"n": 1}']
    assert (await lines_of(worker(fake_openai).stream(request(response_format=FORM))))[:3] == [
        'text: {"m": 1}',
        "attempt 1: alpha: the answer is not JSON by the schema number: 'n' is a required property "
        "(8 withdrawn)",
        'text: {"n": 1}',
    ]
    question, answer, reason = (fake_openai.settled().body or {})["messages"]
    assert question["role"] == "user"
    assert (answer["role"], answer["content"]) == ("assistant", '{"m": 1}')
    assert "'n' is a required property" in reason["content"]


async def test_an_answer_that_is_wrong_twice_is_an_error(fake_openai: Served) -> None:
    fake_openai.fake.texts += ["So.", '{"n": "1"}', '{"n": 1}']
    with pytest.raises(AnswerFormError, match="alpha answered twice with what is not JSON") as raised:
        await completed(worker(fake_openai).stream(request(response_format=FORM)))
    assert len(fake_openai.log.entries) == 2
    assert reported(raised.value)


async def test_an_answer_cut_off_at_its_limit_is_an_error_at_once(fake_openai: Served) -> None:
    fake_openai.fake.texts += ['{"n": 1 }']
    with pytest.raises(AnswerFormError, match="cut off at 2 tokens, before it was JSON") as raised:
        await completed(worker(fake_openai).stream(request(response_format=FORM, max_tokens=2)))
    assert len(fake_openai.log.entries) == 1
    assert reported(raised.value)


@pytest.mark.parametrize("form", [FORM, OBJECT])
async def test_an_endpoint_without_the_parameter_is_asked_in_words(
    fake_openai: Served, form: ResponseFormat
) -> None:
    fake_openai.fake.texts += ['{"n": 1}', '{"n": 2}']
    alpha = worker(fake_openai, "fault:unknown-parameter=response_format")
    first = await lines_of(alpha.stream(request(response_format=form)))
    assert first[0].endswith("; asked again with the form of the answer in words.")
    assert first[1] == 'text: {"n": 1}'
    body = fake_openai.settled().body or {}
    assert "response_format" not in body
    assert body["messages"][-1]["content"].endswith(form.request)
    assert (await lines_of(alpha.stream(request(response_format=form))))[0] == 'text: {"n": 2}'


async def test_a_schema_that_cannot_be_checked_is_the_error(fake_openai: Served) -> None:
    fake_openai.fake.texts += ["{}"]
    endless = ResponseFormat.of_schema({"$ref": "#"}, name="endless")
    with pytest.raises(AnswerFormError, match="alpha: The answer cannot be checked") as raised:
        await completed(worker(fake_openai).stream(request(response_format=endless)))
    assert reported(raised.value)


# -- in a run --------------------------------------------------------------------------------------


async def test_a_run_counts_both_answers(fake_openai: Served) -> None:
    fake_openai.fake.texts += ["a draft", "So.", '{"n": 1}']
    state = await played(asks_for_json(), Pool(workers=(worker(fake_openai),)))
    assert state.status == "finished", state.steps[1].message
    final = state.steps[1].output
    assert final is not None
    assert final.text == '{"n": 1}'
    bodies = [entry.body or {} for entry in fake_openai.log.entries]
    assert ["response_format" in body for body in bodies] == [False, True, True]
    prompts = [len("\n\n".join(m["content"] for m in body["messages"]).split()) for body in bodies[1:]]
    assert final.usage.completion_tokens == 1 + 2
    assert final.usage.prompt_tokens is not None
    assert final.usage.prompt_tokens >= sum(prompts)
    assert final.usage.cost == final.usage.prompt_tokens


@pytest.mark.parametrize(
    ("other", "refusal"),
    [
        (SimulatedWorker(name="beta", answer='{"n": 1}'), "beta is simulated and calls no model"),
        (Calculator(), "is no model of an endpoint"),
    ],
)
async def test_who_calls_no_model_is_refused(fake_openai: Served, other: Worker, refusal: str) -> None:
    name = other.card.name
    state = await played(
        workflow_of(()).with_worker(0, name).with_sampling(0, Sampling(response_format=FORM)),
        Pool(workers=(other,)),
    )
    assert state.status == "failed"
    assert refusal in (state.steps[0].message or "")
    fails = FallbackWorker(worker(fake_openai, "fault:error-500"), other)
    (error,) = await lines_of(fails.stream(request(response_format=FORM)))
    assert "500" in error
    assert f"Its fallback {name} " in error


async def test_a_fallback_answers_in_the_form(fake_openai: Served) -> None:
    fake_openai.fake.texts += ['{"n": 1}']
    both = FallbackWorker(worker(fake_openai, "fault:error-500"), worker(fake_openai, name="beta"))
    assert (await lines_of(both.stream(request(response_format=FORM))))[1] == 'text: {"n": 1}'
    assert (fake_openai.settled().body or {})["response_format"] == FORM.wire
