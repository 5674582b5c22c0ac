"""What every client's program asks, and how it prints what came of it. Runs where clients are installed."""

import asyncio
import inspect
import json
import os
import sys
from collections.abc import Callable

BASE_URL, KEY, MODEL = os.environ["BASE_URL"], os.environ["KEY"], os.environ["MODEL"]
QUESTION = "How warm is it in Paris and in Rome?"
DEGREES = {"Paris": 21, "Rome": 17}
TOOL = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
REPORT = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}


def get_weather(city: str) -> str:
    """How warm it is in a city, in degrees."""
    return str(DEGREES[city])


def tried(**capabilities: Callable[[], object]) -> None:
    """Tries each by itself and prints what it returned, or why it failed, as one JSON object."""
    results = {}
    for name, capability in capabilities.items():
        try:
            result = capability()
            results[name] = {"result": asyncio.run(result) if inspect.iscoroutine(result) else result}
        except Exception as error:  # noqa: BLE001 - whatever a client raises is its result
            results[name] = {"error": f"{type(error).__name__}: {error}"}
    json.dump(results, sys.stdout)
