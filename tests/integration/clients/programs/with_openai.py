"""OpenAI's own client: chat completions and responses."""

import json

from openai import AuthenticationError, OpenAI
from pydantic import BaseModel
from weather import BASE_URL, KEY, MODEL, QUESTION, REPORT, TOOL, get_weather, tried

client = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0)
MESSAGES = [{"role": "user", "content": QUESTION}]
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": TOOL}}]


class Report(BaseModel):
    city: str
    degrees: int


def plain() -> str:
    return (
        client.chat.completions.create(model=MODEL, messages=MESSAGES, seed=7, top_p=0.9)
        .choices[0]
        .message.content
    )


def stream() -> str:
    pieces = client.chat.completions.create(
        model=MODEL, messages=MESSAGES, stream=True, stream_options={"include_usage": True}
    )
    return "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)


def tools() -> str:
    messages = list(MESSAGES)
    answer = client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message
    messages.append(answer)
    for call in answer.tool_calls:
        result = get_weather(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return (
        client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message.content
    )


def schema() -> dict:
    parsed = client.chat.completions.parse(model=MODEL, messages=MESSAGES, response_format=Report)
    return parsed.choices[0].message.parsed.model_dump()


def responses() -> str:
    offered = [{"type": "function", "name": "get_weather", "parameters": TOOL, "strict": True}]
    first = client.responses.create(model=MODEL, input=QUESTION, tools=offered)
    results = [
        {
            "type": "function_call_output",
            "call_id": item.call_id,
            "output": get_weather(**json.loads(item.arguments)),
        }
        for item in first.output
        if item.type == "function_call"
    ]
    return client.responses.create(
        model=MODEL, input=results, previous_response_id=first.id, tools=offered
    ).output_text


def responses_schema() -> dict:
    form = {"type": "json_schema", "name": "report", "schema": REPORT, "strict": True}
    return json.loads(client.responses.create(model=MODEL, input=QUESTION, text={"format": form}).output_text)


def refused() -> int:
    try:
        OpenAI(base_url=BASE_URL, api_key="wrong", max_retries=0).models.list()
    except AuthenticationError as error:
        return error.status_code
    return 0


tried(
    plain=plain, stream=stream, tools=tools, schema=schema, responses=responses,
    responses_schema=responses_schema, refused=refused,
)  # fmt: skip
