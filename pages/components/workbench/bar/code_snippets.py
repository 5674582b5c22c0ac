"""Snippets that ask this server from a program: in curl, Python and JavaScript. Pure.

A snippet never contains a key: it is read from the environment, else from the file of this machine's token.
A question is untrusted: it cannot end the text that contains it, and is shown exactly as it is.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path

KEY = "CONDUCTOR_API_KEY"

MOST_CHARACTERS = 500
"""Of a longer question a snippet shows the beginning."""


def snippets(*, url: str, model: str, query: str, token: Path | None = None) -> Mapping[str, str]:
    """The snippets by what they are called; `url` is the API's, with /v1. `token` is the file with this
    machine's token, None for programs on other machines.
    """
    question = query if len(query) <= MOST_CHARACTERS else f"{query[:MOST_CHARACTERS]}…"
    return {
        "curl": _curl(url, model, question, token),
        "Python": _python(url, model, question, token),
        "JavaScript": _javascript(url, model, question, token),
    }


def _curl(url: str, model: str, query: str, token: Path | None) -> str:
    key = f"${KEY}" if token is None else f"${{{KEY}:-$(cat {shlex.quote(str(token))})}}"
    body = (
        f'{{"model": {quoted(model)}, "messages": [{{"role": "user", "content": {quoted(query)}}}], '
        '"stream": true}'
    )
    return (
        f"curl --no-buffer {shlex.quote(f'{url}/chat/completions')} \\\n"
        f'  -H "Authorization: Bearer {key}" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        f"  -d {shlex.quote(body)}"
    )


def _python(url: str, model: str, query: str, token: Path | None) -> str:
    key = f'os.environ["{KEY}"]'
    if token is not None:
        key = f'os.environ.get("{KEY}") or open({_literal(str(token))}).read()'
    return f"""import os

from openai import OpenAI  # pip install openai

client = OpenAI(
    base_url={_literal(url)},
    api_key={key},
)
stream = client.chat.completions.create(
    model={_literal(model)},
    messages=[{{"role": "user", "content": {_literal(query)}}}],
    stream=True,
)
for chunk in stream:
    for choice in chunk.choices:
        print(choice.delta.content or "", end="", flush=True)
"""


def _javascript(url: str, model: str, query: str, token: Path | None) -> str:
    reading, key = "", f"process.env.{KEY}"
    if token is not None:
        reading = 'import { readFileSync } from "node:fs";\n'
        key = f'process.env.{KEY} ?? readFileSync({quoted(str(token))}, "utf8")'
    return f"""{reading}import OpenAI from "openai"; // npm install openai

const client = new OpenAI({{
  baseURL: {quoted(url)},
  apiKey: {key},
}});
const stream = await client.chat.completions.create({{
  model: {quoted(model)},
  messages: [{{ role: "user", content: {quoted(query)} }}],
  stream: true,
}});
for await (const chunk of stream)
  for (const choice of chunk.choices) process.stdout.write(choice.delta.content ?? "");
"""


def quoted(text: str) -> str:
    """A text in double quotes, as JSON and JavaScript read it; what cannot be seen is escaped."""
    return f'"{"".join(c if _plain(c) else json.dumps(c)[1:-1] for c in text)}"'


def _literal(text: str) -> str:
    """The same for Python, which writes letters beyond the first 65,536 otherwise."""
    return f'"{"".join(c if _plain(c) else _escape(c) for c in text)}"'


def _plain(letter: str) -> bool:
    return letter.isprintable() and letter not in '"\\'


def _escape(letter: str) -> str:
    return json.dumps(letter)[1:-1] if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"
