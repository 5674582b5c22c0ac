"""Instructor, in its modes for tools and for JSON Schema."""

import instructor
from openai import OpenAI
from pydantic import BaseModel
from weather import BASE_URL, KEY, MODEL, QUESTION, tried

CHAT = [{"role": "user", "content": QUESTION}]


class Report(BaseModel):
    city: str
    degrees: int


def report_by(mode: instructor.Mode) -> dict:
    client = instructor.from_openai(OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0), mode=mode)
    answer = client.chat.completions.create(model=MODEL, messages=CHAT, response_model=Report, max_retries=0)
    return answer.model_dump()


tried(
    schema=lambda: report_by(instructor.Mode.JSON_SCHEMA),
    schema_by_tool=lambda: report_by(instructor.Mode.TOOLS),
    schema_by_prompt=lambda: report_by(instructor.Mode.JSON),
)
