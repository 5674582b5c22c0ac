"""Pydantic AI: an agent with a tool, and its three ways to a typed output."""

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from weather import BASE_URL, KEY, MODEL, QUESTION, get_weather, tried


class Report(BaseModel):
    city: str
    degrees: int


def model(key: str = KEY) -> OpenAIChatModel:
    return OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=BASE_URL, api_key=key))


async def plain() -> str:
    return (await Agent(model()).run(QUESTION)).output


async def stream() -> str:
    async with Agent(model()).run_stream(QUESTION) as streamed:
        return "".join([piece async for piece in streamed.stream_text(delta=True)])


async def tools() -> str:
    return (await Agent(model(), tools=[get_weather]).run(QUESTION)).output


async def schema() -> dict:
    return (await Agent(model(), output_type=NativeOutput(Report)).run(QUESTION)).output.model_dump()


async def schema_by_tool() -> dict:
    return (await Agent(model(), output_type=ToolOutput(Report)).run(QUESTION)).output.model_dump()


async def schema_by_prompt() -> dict:
    return (await Agent(model(), output_type=PromptedOutput(Report)).run(QUESTION)).output.model_dump()


async def refused() -> int:
    try:
        await Agent(model("wrong")).run(QUESTION)
    except ModelHTTPError as error:
        return error.status_code
    return 0


tried(
    plain=plain, stream=stream, tools=tools, schema=schema, schema_by_tool=schema_by_tool,
    schema_by_prompt=schema_by_prompt, refused=refused,
)  # fmt: skip
