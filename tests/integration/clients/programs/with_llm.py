"""Simon Willison's llm, as a library, with the model registered as its file of extra models does."""

import json

from llm.default_plugins.openai_models import Chat
from weather import BASE_URL, KEY, MODEL, QUESTION, REPORT, get_weather, tried

chat = Chat(
    "conductor",
    model_name=MODEL,
    api_base=BASE_URL,
    supports_tools=True,
    supports_schema=True,
    can_stream=True,
)
chat.key = KEY


def plain() -> str:
    return chat.prompt(QUESTION, stream=False).text()


def stream() -> str:
    return "".join(chat.prompt(QUESTION))


def tools() -> str:
    return chat.chain(QUESTION, tools=[get_weather]).text()


def schema() -> dict:
    return json.loads(chat.prompt(QUESTION, schema=REPORT).text())


tried(plain=plain, stream=stream, tools=tools, schema=schema)
