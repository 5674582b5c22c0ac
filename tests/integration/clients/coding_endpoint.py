"""An endpoint that works as the model of a coding agent does: it reads two files at once, edits one, runs a
command and answers. Builds on the fake endpoint of all tests.

Knows the tools of each client by name, and the questions of the tests; knows no configuration.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.support.endpoints.fake_openai import FakeOpenAI
from tests.support.endpoints.fake_openai.faults import Script

TASK = "Work in {folder}: read one.txt and two.txt, write gamma for alpha in one.txt, copy both to three.txt."
DONE = "The task is done: three.txt has gamma and beta."
FOLLOW_UP = "Which word does two.txt have?"
REMEMBERED = "The word is beta."
NOTE = "The files are short."
TITLE = "Two words"

_PIECE = 7
_PLAN = """model_id = [0, 1]
subtasks = ["Note what the task needs.", "Do the task with your tools."]
access_list = [[], [0]]"""
_EDITED = f"""one.txt
```
{"<" * 7} SEARCH
alpha
{"=" * 7}
gamma
{">" * 7} REPLACE
```
"""
_COMMAND = "cat one.txt two.txt > three.txt"

Call = tuple[str, Mapping[str, object]]


class CodingEndpoint(FakeOpenAI):
    """Plans two steps as the model `planner`, makes a note as `plain`, and does the task as any other."""

    def _completion(self, body: dict[str, Any], authorization: str | None) -> Script:
        # Not behind what a request before it, which was refused, has left.
        self.texts[:] = [_answer(body)]
        return super()._completion(body, authorization)


def _answer(body: Mapping[str, Any]) -> str | Sequence[Mapping[str, Any]]:
    messages = body["messages"]
    prompt = "\n".join(_text(message["content"]) for message in messages)
    if body["model"] == "planner":
        return _PLAN
    if body["model"] == "plain":
        return NOTE
    if FOLLOW_UP in prompt:
        return REMEMBERED if "beta" in prompt else "No message has the word."
    folder = re.search(r"Work in ([^\s:]+)", prompt)
    offered = {tool["function"]["name"] for tool in body.get("tools") or ()}
    if folder is None or not offered:
        return f"{_EDITED}\n{DONE}" if "SEARCH" in prompt else TITLE
    rounds = sum(bool(message.get("tool_calls")) for message in messages)
    calls = _calls(offered, folder[1])
    return list(_deltas(calls[rounds], rounds)) if rounds < len(calls) else DONE


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return str(content or "")


def _calls(offered: set[str], folder: str) -> Sequence[Sequence[Call]]:
    """The calls of each turn by the tools that a client offers: two reads at once, an edit, a command."""
    one, two = f"{folder}/one.txt", f"{folder}/two.txt"
    command = f"cd {folder} && {_COMMAND}"
    if "exec_command" in offered:  # Codex
        commands = [[f"cat {one}", f"cat {two}"], [f"sed -i s/alpha/gamma/ {one}"], [command]]
        return [[("exec_command", {"cmd": each}) for each in turn] for turn in commands]
    if "bash" in offered:  # opencode
        return [
            [("read", {"filePath": one}), ("read", {"filePath": two})],
            [("edit", {"filePath": one, "oldString": "alpha", "newString": "gamma"})],
            [("bash", {"command": command})],
        ]
    if "run_shell_command" in offered:  # Qwen Code
        return [
            [("read_file", {"file_path": one}), ("read_file", {"file_path": two})],
            [("edit", {"file_path": one, "old_string": "alpha", "new_string": "gamma"})],
            [("run_shell_command", {"command": command, "is_background": False})],
        ]
    return [  # programs/file_tools.py and node/coding_with_ai.mjs
        [("read_file", {"path": one}), ("read_file", {"path": two})],
        [("edit_file", {"path": one, "old": "alpha", "new": "gamma"})],
        [("run", {"command": command})],
    ]


def _deltas(calls: Sequence[Call], turn: int) -> Iterator[Mapping[str, Any]]:
    """The calls in pieces, a piece of each in turn."""
    texts = [json.dumps(arguments) for _, arguments in calls]
    for at, (name, _) in enumerate(calls):
        function = {"name": name, "arguments": ""}
        yield _piece(at, {"id": f"call_{turn}_{at}", "type": "function", "function": function})
    for start in range(0, max(map(len, texts)), _PIECE):
        for at, text in enumerate(texts):
            if piece := text[start : start + _PIECE]:
                yield _piece(at, {"function": {"arguments": piece}})


def _piece(at: int, call: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"tool_calls": [{"index": at, **call}]}
