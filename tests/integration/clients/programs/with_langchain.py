"""LangChain's chat model for OpenAI."""

import openai
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from weather import BASE_URL, KEY, MODEL, QUESTION, get_weather, tried

chat = ChatOpenAI(base_url=BASE_URL, api_key=KEY, model=MODEL, max_retries=0)
weather = tool(get_weather)


class Report(BaseModel):
    """The weather of a city."""

    city: str
    degrees: int


def plain() -> str:
    return chat.invoke(QUESTION).content


def stream() -> str:
    return "".join(piece.content for piece in chat.stream(QUESTION))


def tools() -> str:
    bound = chat.bind_tools([weather])
    messages = [HumanMessage(QUESTION)]
    answer = bound.invoke(messages)
    messages.append(answer)
    for call in answer.tool_calls:
        messages.append(ToolMessage(get_weather(**call["args"]), tool_call_id=call["id"]))
    return bound.invoke(messages).content


def schema() -> dict:
    return chat.with_structured_output(Report, method="json_schema").invoke(QUESTION).model_dump()


def schema_by_tool() -> dict:
    return chat.with_structured_output(Report, method="function_calling").invoke(QUESTION).model_dump()


def refused() -> int:
    try:
        ChatOpenAI(base_url=BASE_URL, api_key="wrong", model=MODEL, max_retries=0).invoke(QUESTION)
    except openai.AuthenticationError as error:
        return error.status_code
    return 0


tried(
    plain=plain, stream=stream, tools=tools, schema=schema, schema_by_tool=schema_by_tool, refused=refused
)  # fmt: skip
