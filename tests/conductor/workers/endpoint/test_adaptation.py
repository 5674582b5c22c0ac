"""What a server refuses by name is left out and remembered; a value that is refused is the person's."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from conductor.values.message_parts.response_format import ResponseFormat
from conductor.values.messages import Sampling
from conductor.values.output import HandEdit
from conductor.workers.endpoint.adaptation import MOST, Adaptation, without_system
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.endpoint.failures import EndpointFailure, Failures
from conductor.workers.keys.mask import NO_KEYS
from conductor.workers.pool.pool import Pool
from tests.support.endpoints.chat_cases import ask, client, completed, lines_of, request
from tests.support.endpoints.fake_openai import Served
from tests.support.endpoints.raw_endpoint import DONE, chunk, head, raw_endpoint
from tests.support.runs.worker_cases import played
from tests.support.runs.workflow_cases import workflow_of

FORM = ResponseFormat(type="json_object")
TALK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
BODY = {
    "model": "m",
    "messages": TALK,
    "stream": True,
    "stream_options": {"include_usage": True},
    "temperature": 0,
    "max_tokens": 9,
    "seed": 0,
    "top_p": 0.9,
    "frequency_penalty": 0.5,
    "presence_penalty": 0.5,
    "reasoning_effort": "low",
    "stop": ["x"],
    "response_format": FORM.wire,
    "parallel_tool_calls": True,
}
SYSTEM = "with the system message in the user's"
WORDS = "with the form of the answer in words"
COUNT = "without stream_options, so its tokens stay unknown"


def refusal(status: int, body: object) -> EndpointFailure:
    content = body if isinstance(body, str) else json.dumps(body)
    failures = Failures("alpha", Endpoint(base_url="http://host/v1", model="m"))
    return failures.status(httpx.Response(status), content.encode(), NO_KEYS)


def openai(message: str, param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": None}}


def unsupported(param: str) -> dict[str, Any]:
    return openai(f"Unsupported parameter: '{param}' is not supported with this model.", param)


def forbidden(name: str, **more: Any) -> list[dict[str, Any]]:
    return [
        {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted", **more}
    ]


REFUSALS: list[tuple[str, int, object, str | None]] = [
    ("OpenAI", 400, unsupported("temperature"), "without temperature"),
    ("Azure", 400, openai("Unsupported value: 'temperature' does not support 0.3 with this model. "
     "Only the default (1) value is supported.", "temperature"), "without temperature"),
    ("Moonshot", 400, openai("invalid temperature: only 1 is allowed for this model"), "without temperature"),
    ("Moonshot", 400, openai("invalid top_p: only 0.95 is allowed for this model"), "without top_p"),
    ("Anthropic", 400, openai("`temperature` is deprecated for this model."), "without temperature"),
    ("Anthropic thinks", 400, openai("`temperature` may only be set to 1 when thinking is enabled."),
     "without temperature"),
    ("Bedrock", 400, openai("`temperature` and `top_p` cannot both be specified for this model."),
     "without temperature"),
    ("Bedrock, older", 400, {"message": "Malformed input request: extraneous key [top_p] is not permitted"},
     "without top_p"),
    ("a gateway", 500, openai("temperature not supported"), "without temperature"),
    ("a gateway", 501, openai("temperature is not implemented, unsupported"), "without temperature"),
    ("OpenAI", 400, openai("Unsupported parameter: 'max_tokens' is not supported with this model. Use "
     "'max_completion_tokens' instead."), "with max_completion_tokens"),
    ("Truefoundry", 400, {"status": "failure", "message": "openai error: Unsupported parameter: "
     "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."},
     "with max_completion_tokens"),
    ("OpenAI, unverified", 400, openai("Your organization must be verified to stream this model."),
     "without streaming"),
    ("Vertex", 400, openai("Streaming is not supported for this model", "stream"), "without streaming"),
    ("llama.cpp", 500, openai("Cannot use tools with stream"), "without streaming"),
    ("FastAPI", 422, {"detail": forbidden("stream")}, "without streaming"),
    ("vLLM, old", 400, {"object": "error", "message": str(forbidden("stream_options"))}, COUNT),
    ("Mistral", 422, {"detail": forbidden("stream_options")}, COUNT),
    ("old gateways", 500, {"error": {"message": "unknown field stream_options"}}, COUNT),
    ("Gemini", 400, [openai('Invalid JSON payload. Unknown name "stream_options": Cannot find field.')],
     COUNT),
    ("xAI", 400, {"code": "x", "error": "Argument not supported on this model: presencePenalty"},
     "without presence_penalty"),
    ("xAI, later", 400, {"error": "Model grok-4 does not support parameter frequencyPenalty."},
     "without frequency_penalty"),
    ("Mistral, JSON in the text", 422, {"message": json.dumps({"detail": forbidden("frequency_penalty")})},
     "without frequency_penalty"),
    ("Gemini", 400, [openai("Penalty is not enabled for models/gemini-2.5-flash-lite")],
     "without frequency_penalty and without presence_penalty"),
    ("Mistral", 422, {"detail": forbidden("seed", input=1)}, "without seed"),
    ("Groq", 400, openai("property 'seed' is unsupported"), "without seed"),
    ("OpenAI", 400, unsupported("stop"), "without stop"),
    ("OpenAI o1-mini", 400,
     openai("Unsupported value: 'messages[0].role' does not support 'system' with this model."),
     SYSTEM),
    ("vLLM, Gemma", 400, {"object": "error", "message": "System role not supported"}, SYSTEM),
    ("llama.cpp", 500,
     openai("System role not supported at row 1, column 82:\n{{ bos_token }}{% if messages[0] <= 1"),
     SYSTEM),
    ("vLLM, Mistral", 400,
     {"message": "Conversation roles must alternate user/assistant/user/assistant/..."}, SYSTEM),
    ("Mistral's template", 400, openai("Only user and assistant roles are supported!"), SYSTEM),
    ("Qwen's template", 400, openai("System message must be at the beginning."), SYSTEM),
    ("Gemini, Gemma", 400,
     [openai("Developer instruction is not enabled for models/gemma-3-27b-it")], SYSTEM),
    ("gateways to Gemini", 400, openai("Please use a valid role: user, model."), SYSTEM),
    ("DeepSeek", 422, "Failed to deserialize: response_format.type `json_schema` is unavailable now",
     WORDS),
    ("Groq", 400, openai("'response_format.type' : value is not one of the allowed values ['text']"), WORDS),
    ("LM Studio", 400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}, WORDS),
    ("Gemini", 400,
     [openai("Function calling with a response mime type: 'application/json' is unsupported")], WORDS),
    ("OpenAI", 400, unsupported("parallel_tool_calls"), "without parallel_tool_calls"),
    ("Azure", 400, openai("Unrecognized request argument: reasoning_effort"), "without reasoning_effort"),
    ("Ollama", 400, openai('"gemma3:latest" does not support thinking'), "without reasoning_effort"),
    ("OpenAI o1", 400, openai("Unsupported value: 'stream' does not support true with this model."),
     "without streaming"),
    ("a gateway", 400, openai("'stream' must be set to false"), "without streaming"),
    ("Bedrock", 400, {"message": "The model is unsupported for streaming"}, "without streaming"),
    ("Bedrock", 400, {"message": "This model doesn't support the stopSequences field. Remove it."},
     "without stop"),
    ("xAI", 400, {"code": "x", "error": "Argument not supported on this model: stop"}, "without stop"),
    ("LiteLLM", 400, openai("litellm.UnsupportedParamsError: gpt-5 models don't support temperature=0.0. "
     "Only temperature=1 is supported. To drop it set `litellm.drop_params = True`"), "without temperature"),
    ("LiteLLM", 400, openai("groq does not support parameters: ['seed'], for model=x"), "without seed"),
    ("Cerebras", 422, {"message": "body.frequency_penalty: property 'body.frequency_penalty' is unsupported"},
     "without frequency_penalty"),
    ("Fireworks", 400, openai("Extra inputs are not permitted, field: 'seed', value: 0"), "without seed"),
    ("Spring", 400, {"status": 400, "error": "Bad Request", "message": 'Unrecognized field "top_p"'},
     "without top_p"),
    ("zod", 400, {"error": {"issues": [{"message": "Unrecognized key(s) in object: 'seed'"}]}},
     "without seed"),
    ("serde", 422, "Failed to deserialize: unknown field `seed`, expected one of `model`", "without seed"),
    ("MiniMax", 200, {"base_resp": {"status_code": 2013, "status_msg": "temperature is not supported"}},
     "without temperature"),
    ("Databricks", 400, {"error_code": "BAD_REQUEST", "message": 'unknown field "stream_options"'}, COUNT),
    ("TGI", 422, {"error": "Template error: Conversation roles must alternate user/assistant"}, SYSTEM),
    ("Perplexity", 400, openai("After the (optional) system message(s), user or assistant roles should be "
     "alternating."), SYSTEM),
    ("Bedrock", 400, {"message": "This model doesn't support system messages."}, SYSTEM),
    # MiniMax-M2#51: of several system messages. llama.cpp: of a schema that it cannot make a grammar of.
    ("MiniMax", 400, openai("invalid params, invalid chat setting (2013)"), SYSTEM),
    ("MiniMax", 400, openai("invalid params, chat content has invalid message role: system (2013)"), SYSTEM),
    ("Mistral", 400, {"message": "Unexpected role 'system' after role 'user'", "code": 3230}, SYSTEM),
    ("LM Studio", 400, {"error": 'Error rendering prompt with jinja template: "Only user and assistant roles '
     'are supported!". This is usually an issue with the model.'}, SYSTEM),
    ("llama.cpp", 400, openai("Failed to parse grammar"), WORDS),
    ("llama.cpp", 400, openai('"json_schema": Unrecognized schema: {"type":"x"}'), WORDS),
    ("llama.cpp", 400, openai('response_format type must be one of "text" or "json_object", but got: x'),
     WORDS),
    ("llama.cpp", 400, openai("logprobs is not supported with tools + stream"), "without streaming"),
    ("Groq", 400, openai("json mode cannot be combined with tool/function calling"), WORDS),
    ("Groq", 400, openai("This model does not support response format `json_schema`. See the models"), WORDS),
    ("DashScope", 400, openai("<400> InternalError.Algo: Json mode response is not supported "
     "when enable_thinking is true"), WORDS),
    ("Azure", 400, openai("response_format value as json_schema is enabled only for api versions x"), WORDS),
    ("Azure", 400, openai("Unrecognized request argument supplied: parallel_tool_calls"),
     "without parallel_tool_calls"),
    ("Azure, an old version", 400, openai("Unknown parameter: 'stream_options'."), COUNT),
    ("Mistral, twice", 422, {"object": "Error", "detail": forbidden("seed"), "message": forbidden("seed")},
     "without seed"),
    ("Mistral, inside", 422, {"object": "error", "message": {"detail": [{"type": "extra_forbidden",
     "loc": ["body", "stream_options", "include_usage"], "msg": "Extra inputs are not permitted"}]}}, COUNT),
    ("Gemini, several", 400, [openai('Unknown name "seed": Cannot find field.\nUnknown name "top_p": Cannot '
     "find field.")], "without seed"),
    ("Gemini", 400, [openai("Expected one of either `reasoning_effort` or custom `thinking_config`")],
     "without reasoning_effort"),
    ("OpenRouter", 400, {"error": {"message": "Provider returned error", "code": 400, "metadata": {
     "raw": json.dumps(unsupported("max_tokens"))}}}, "with max_completion_tokens"),
    ("OpenAI", 400, openai("Function tools with reasoning_effort are not supported in /v1/chat/completions."),
     "without reasoning_effort"),
    ("DashScope", 400, openai("'messages' must contain the word 'json', to use 'response_format'."), WORDS),
    # A value, a cause of another kind, or a parameter without which the answer would be another one.
    ("Mistral", 422,
     {"detail": [{"loc": ["body", "temperature"], "msg": "Input should be less than or equal to 1.5"}]},
     None),
    ("DashScope", 400, openai("'temperature' must be in (0.0, 2.0), invalid"), None),
    ("DashScope", 400, openai("Presence_penalty should be in [-2.0, 2.0]"), None),
    ("DashScope", 400, openai("Range of max_tokens should be [1, 8192]"), None),
    ("DeepSeek", 400, openai("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"), None),
    ("vLLM", 400, openai("'max_tokens' or 'max_completion_tokens' is too large: 9999. This model's maximum "
     "context length is 4096 tokens"), None),
    ("vLLM", 400, openai("max_tokens must be at least 1, got -3. (parameter=max_tokens, value=-3)"), None),
    ("Groq", 400, openai("`reasoning_effort` must be one of `none` or `default`"), None),
    ("Ollama", 400, openai('invalid reasoning value: "auto" (must be "minimal", "low", "max", or "none")'),
     None),
    ("OpenRouter", 402, openai("This request requires more credits, or fewer max_tokens."), None),
    ("OpenAI", 400, openai("Could not finish the message because max_tokens was reached."), None),
    ("Mistral", 400, {"message": "Expected last role User or Tool for serving but got assistant"}, None),
    ("OpenAI", 400,
     openai("max_tokens is too large: 999999. This model supports at most 16384.", "max_tokens"), None),
    ("vLLM", 400,
     openai("This model's maximum context length is 9 tokens; lower max_tokens, not supported"), None),
    ("llama.cpp", 400, openai("the request with max_tokens does not fit the context"), None),
    ("Ollama", 400,
     openai("invalid reasoning value: 'minimal' (must be \"high\", \"medium\" or \"low\")"), None),
    ("OpenAI", 400, openai("Invalid schema for response_format 'x'"), None),
    ("DashScope", 400, openai("This model only support stream mode, enable the stream parameter"), None),
    ("DashScope", 400, openai("enable_thinking must be set to false for non-streaming calls"), None),
    ("proxies", 500, openai("stream error: stream ID 5; INTERNAL_ERROR"), None),
    ("proxies", 502, openai("cannot read the upstream"), None),
    ("SGLang", 500, "Internal Server Error", None),
    ("Groq", 400, openai("property 'store' is unsupported, did you mean 'stop'?"), None),
    ("Mistral", 422, {"message": forbidden("top_k"), "code": 3001}, None),
    ("Ollama", 400, openai("gemma:2b does not support tools"), None),
    ("DashScope", 400, openai("Thinking mode does not support this tool_choice"), None),
    ("OpenAI", 429, openai("temperature is not supported under this rate"), None),
    ("Azure", 400, openai("The system message was flagged by the content policy."), None),
    ("OpenAI", 401, openai("You are not allowed to stream"), None),
]  # fmt: skip


@pytest.mark.parametrize(("who", "status", "body", "learned"), REFUSALS)
def test_a_refusal_that_names_a_parameter_leaves_it_out_from_then_on(
    who: str, status: int, body: object, learned: str | None
) -> None:
    adaptation = Adaptation(())
    done: set[str] = set()
    assert adaptation.learn(refusal(status, body), BODY, FORM, done) == learned
    fitted, left_out = adaptation.fit(BODY, FORM)
    assert (fitted == BODY) == (learned is None)
    assert adaptation.learn(refusal(status, body), BODY, FORM, done) != learned or learned is None
    if learned is not None and learned.startswith("without ") and "stream" not in learned:
        names = learned.removeprefix("without ").split(" and without ")
        assert sorted(left_out) == names
        assert fitted == {name: value for name, value in BODY.items() if name not in names}
    else:
        assert left_out == ()


def test_the_pool_file_leaves_out_what_it_names() -> None:
    fitted, left_out = Adaptation(["system", "stream", "max_tokens", "response_format", "seed"]).fit(
        BODY, FORM
    )
    assert fitted["messages"] == [{"role": "user", "content": f"Be brief.\n\nWhy?\n\n{FORM.request}"}]
    assert (fitted["stream"], fitted["max_completion_tokens"], left_out) == (False, 9, ("seed",))
    assert fitted.keys() & {"stream_options", "max_tokens", "response_format", "seed"} == set()
    both, left_out = Adaptation(["max_tokens", "max_completion_tokens"]).fit(BODY, FORM)
    assert (both.keys() & {"max_tokens", "max_completion_tokens"}, left_out) == (set(), ("max_tokens",))


def test_the_limits_other_name_leads_back() -> None:
    other = refusal(400, unsupported("max_completion_tokens"))
    body = {**BODY, "max_completion_tokens": 9, "max_tokens": None}
    adaptation = Adaptation(())
    adaptation.learn(refusal(400, unsupported("max_tokens")), BODY, None, set())
    assert adaptation.learn(other, body, None, set()) == "with max_tokens"
    assert adaptation.fit(BODY, FORM)[0]["max_tokens"] == 9


IMAGE = {"type": "image_url", "image_url": {"url": "data:"}}
CALLS = [{"id": "1"}]


@pytest.mark.parametrize(
    ("messages", "merged"),
    [
        ("s:a u:b", "u:a\n\nb"),
        ("u:a s:b u:c a:d a:e u:f", "u:a\n\nb\n\nc a:d\n\ne u:f"),
        ("s:a", "u:a"),
        ("u:a a:b t:c t:d", "u:a a:b t:c t:d"),
    ],
)
def test_system_messages_become_the_users_and_neighbours_one(messages: str, merged: str) -> None:
    roles = {"s": "system", "u": "user", "a": "assistant", "t": "tool"}

    def read(text: str) -> list[dict[str, str]]:
        return [{"role": roles[each[0]], "content": each[2:]} for each in text.split(" ")]

    assert without_system(read(messages)) == read(merged)


def test_images_names_and_calls_of_tools_stay_with_their_message() -> None:
    seen = {"role": "user", "content": [IMAGE], "name": "Ada"}
    (one,) = without_system([TALK[0], seen])
    assert one == {"role": "user", "content": [{"type": "text", "text": "Be brief."}, IMAGE], "name": "Ada"}
    assert len(without_system([seen, {**seen, "name": "Bo"}])) == 2
    calls = {"role": "assistant", "content": None, "tool_calls": CALLS}
    assert without_system([calls, {"role": "assistant", "content": "x"}])[0] == calls


# -- in a call ---------------------------------------------------------------------------------------


async def test_a_parameter_that_a_person_set_is_named_with_each_output(fake_openai: Served) -> None:
    worker = OpenAIWorker(client(fake_openai.base_url, "fault:unknown-parameter=seed").endpoint, name="alpha")
    workflow = workflow_of((), (0,)).with_worker(0, "alpha").with_worker(1, "alpha")
    for step in (0, 1):
        workflow = workflow.with_sampling(step, Sampling(seed=step))
    state = await played(workflow, Pool(workers=(worker,)))
    assert [len(step.retries) for step in state.steps] == [1, 0]
    assert (
        state.steps[0].retries[0].message.endswith("“Unknown parameter: 'seed'”; asked again without seed.")
    )
    for step in state.steps:
        assert step.output is not None
        assert step.output.loss == "asked without seed, as its endpoint requires"
        assert step.output.by_hand("x", edit=HandEdit(at=1.0)).left_out == ()


async def test_an_error_in_the_stream_adapts_and_an_answer_comes_whole() -> None:
    answers = [
        head() + b'data: {"error": {"message": "Streaming is not supported", "code": "x"}}\n\n',
        head(content_type="application/json")
        + b'{"choices": [{"message": {"content": "blue"}, "finish_reason": "stop"}]}',
    ]

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(answers.pop(0))

    async with raw_endpoint(answer) as base_url:
        attempt, text, end = await lines_of(ask(client(base_url)))
    assert attempt.endswith("asked again without streaming.")
    assert (text, end) == ("text: blue", "stop: None tokens")


async def test_an_answer_that_is_not_streamed_has_all_the_time_of_its_call() -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.2)
        writer.write(
            head(content_type="application/json") + b'{"choices": [{"message": {"content": "blue"}}]}'
        )

    async with raw_endpoint(answer) as base_url:
        chat = client(base_url, first_token=0.01, leave_out=("stream",))
        assert (await completed(ask(chat))).text == "blue"


async def test_a_call_is_adapted_a_few_times_and_not_for_ever() -> None:
    names = [
        "temperature",
        "seed",
        "top_p",
        "frequency_penalty",
        "presence_penalty",
        "stop",
        "reasoning_effort",
    ]
    refused = iter(names)

    async def answer(writer: asyncio.StreamWriter) -> None:
        name = next(refused, None)
        error = json.dumps(unsupported(name)).encode() if name else b""
        writer.write(
            head(status="400 Bad Request") + error if name else head() + chunk("stop", content="x") + DONE
        )

    sampling = Sampling(temperature=0.1, seed=1, top_p=0.1, frequency_penalty=0.1, presence_penalty=0.1)
    async with raw_endpoint(answer) as base_url:
        chat = client(base_url, extra={"stop": ["x"]}, reasoning_effort="low")
        lines = await lines_of(chat.stream(request().messages, sampling=sampling))
        assert [line.split(":")[0] for line in lines] == [
            *(f"attempt {at}" for at in range(1, MOST + 1)),
            "error",
        ]
        # What was learned stays; the next call goes on from there.
        assert (await completed(chat.stream(request().messages, sampling=sampling))).left_out == tuple(
            sorted({*names[:5], names[6]}, key=list(BODY).index)
        )


CALL = {
    "id": "c",
    "type": "function",
    "function": {"name": "f", "arguments": "{}"},
    "extra_content": {"a": 1},
}
THINKING = {
    **BODY,
    "messages": [
        *TALK,
        {"role": "assistant", "content": "x", "name": "a", "reasoning_content": "t", "tool_calls": [CALL]},
    ],
}


@pytest.mark.parametrize(
    ("status", "body", "change"),
    [
        (400, openai("Unknown parameter: 'messages[2].reasoning_content'."), "reasoning_content"),
        (400, openai("'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : "
         "property 'reasoning_content' is unsupported)]"), "reasoning_content"),
        (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 2, "assistant",
         "reasoning_content"], "msg": "Extra inputs are not permitted"}]}, "reasoning_content"),
        (400, [openai('Invalid JSON payload. Unknown name "extra_content" at \'messages[2].tool_calls[0]\': '
         "Cannot find field.")], "tool_calls.extra_content"),
        (400, openai("'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : "
         "property 'name' is unsupported, did you mean 'role'?)]"), "name"),
        (400, openai('Unknown name "thinking": Cannot find field.'), None),
        (400, openai("The `reasoning_content` in the thinking mode must be passed back to the API."), None),
        (400, openai("Missing `reasoning_content` field in assistant message"), None),
        (400, openai("thinking_blocks is unsupported"), None),
        (429, openai("reasoning_content is unsupported"), None),
    ],
)  # fmt: skip
def test_a_member_of_a_message_is_left_out_where_it_is_refused(
    status: int, body: object, change: str | None
) -> None:
    adaptation = Adaptation(())
    expected = None if change is None else f"without messages.{change}"
    assert adaptation.learn(refusal(status, body), THINKING, None, set()) == expected
    fitted, left_out = adaptation.fit(THINKING, None)
    assert left_out == (() if change is None else (f"messages.{change}",))
    message, name = fitted["messages"][2], (change or "").rpartition(".")[2]
    assert name not in {**message, **message["tool_calls"][0]}
    assert ("reasoning_content" in message) == (change != "reasoning_content")


def test_messages_with_thoughts_are_not_joined() -> None:
    thinking = {"role": "assistant", "content": "x", "reasoning": "t"}
    assert without_system([thinking, {"role": "assistant", "content": "y"}]) == [
        thinking,
        {"role": "assistant", "content": "y"},
    ]
