"""LiteLLM, with the provider of servers that speak as OpenAI's."""

import json

import litellm
from weather import BASE_URL, KEY, MODEL, QUESTION, REPORT, TOOL, get_weather, tried

MESSAGES = [{"role": "user", "content": QUESTION}]
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": TOOL}}]
SERVED = {"model": f"openai/{MODEL}", "api_base": BASE_URL, "api_key": KEY, "num_retries": 0}


def plain() -> str:
    return litellm.completion(messages=MESSAGES, **SERVED).choices[0].message.content


def stream() -> str:
    pieces = litellm.completion(messages=MESSAGES, stream=True, **SERVED)
    return "".join(piece.choices[0].delta.content or "" for piece in pieces)


def tools() -> str:
    messages = list(MESSAGES)
    answer = litellm.completion(messages=messages, tools=TOOLS, **SERVED).choices[0].message
    messages.append(answer)
    for call in answer.tool_calls:
        result = get_weather(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return litellm.completion(messages=messages, tools=TOOLS, **SERVED).choices[0].message.content


def schema() -> dict:
    form = {"type": "json_schema", "json_schema": {"name": "report", "schema": REPORT, "strict": True}}
    answer = litellm.completion(messages=MESSAGES, response_format=form, **SERVED)
    return json.loads(answer.choices[0].message.content)


def refused() -> int:
    try:
        litellm.completion(messages=MESSAGES, **{**SERVED, "api_key": "wrong"})
    except litellm.AuthenticationError as error:
        return error.status_code
    return 0


tried(plain=plain, stream=stream, tools=tools, schema=schema, refused=refused)
