"""The coding agents and SDKs that do the task of `coding_endpoint`: where each has its block of configuration
and how it is asked twice in one conversation.

Knows no block: those are the product's, as `agents` prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
NODE = HERE / "node"
PROGRAMS = HERE / "programs"

SETTINGS = {
    "AIDER_ANALYTICS_DISABLE": "true",
    "AIDER_CHECK_UPDATE": "false",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    # opencode installs what a plug-in of its folder may need.
    "npm_config_registry": "http://127.0.0.1:9",
}
Calls = Mapping[str, int | None]
"""How often a worker with a fault is called for one request of a client; None: for minutes."""

STREAMED: Calls = {"fault:error-500": 4, "fault:hang-up": 1}
WHOLE: Calls = {"fault:error-500": 4, "fault:hang-up": 2}
# opencode looks for "500", "server error" and the like in the message of an error, whatever its status is.
REPEATED_BY_WORDS: Calls = {"fault:error-500": None, "fault:hang-up": 1}
REPEATED: Calls = {"fault:error-500": None, "fault:hang-up": None}

_AIDER = "--yes-always --no-gitignore --restore-chat-history"
_CODEX = "--dangerously-bypass-approvals-and-sandbox"


@dataclass(frozen=True)
class CodingClient:
    """A client that is configured by the product's block `name` in `file`, below the folder of its home
    and its work. `turns` are lines of a shell, where $TASK and $FOLLOW_UP are the questions and {start} is
    the product's own line.

    In both turns it makes so many `requests`, and `small_requests` for a title or the message of a commit. A
    worker that fails is called as often as `calls` has it. `stores`: it does not send `store: false`;
    `rewrites`: its next turn has another beginning of the conversation, so that it is another session.
    A variant has `changes` of parts of the block; `ending` stands behind it.
    """

    name: str
    file: str
    turns: tuple[str, ...]
    requests: int = 5
    small_requests: int = 0
    calls: Calls = field(default_factory=lambda: STREAMED)
    stores: bool = True
    rewrites: bool = False
    changes: Mapping[str, str] = field(default_factory=dict)
    ending: str = ""

    def configure(self, folder: Path, block: str) -> None:
        """Write the block below `folder`."""
        for before, after in self.changes.items():
            assert before in block, f"the block of {self.name} has no {before!r}"
            block = block.replace(before, after)
        file = folder / self.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{block}\n{self.ending}", encoding="utf-8")


_AGENTS = ('python "$PROGRAMS/coding_with_openai_agents.py"',)
_LANGCHAIN = ('python "$PROGRAMS/coding_with_langchain.py"',)
_AI = ('node "$NODE/coding_with_ai.mjs"',)
_EXPORT = "export { model };"
_OPENCODE = ('opencode run "$TASK"', 'opencode run -c "$FOLLOW_UP"')

CLIENTS: Mapping[str, CodingClient] = {
    "codex": CodingClient(
        "codex",
        "home/.codex/config.toml",
        (f'codex exec {_CODEX} "$TASK"', f'codex exec resume --last {_CODEX} "$FOLLOW_UP"'),
        stores=False,
    ),
    "opencode": CodingClient(
        "opencode", "work/opencode.json", _OPENCODE, small_requests=1, calls=REPEATED_BY_WORDS
    ),
    "opencode, responses": CodingClient(
        "opencode",
        "work/opencode.json",
        _OPENCODE,
        small_requests=1,
        calls=REPEATED_BY_WORDS,
        stores=False,
        changes={"@ai-sdk/openai-compatible": "@ai-sdk/openai"},
    ),
    "qwen": CodingClient(
        "qwen",
        "home/.qwen/settings.json",
        ('qwen --yolo -p "$TASK"', 'qwen --yolo -c -p "$FOLLOW_UP"'),
        rewrites=True,
    ),
    "aider": CodingClient(
        "aider",
        "home/.aider.conf.yml",
        (
            f'{{start}} {_AIDER} --auto-test --test-cmd "cat one.txt two.txt > three.txt" --message "$TASK" '
            "one.txt --read two.txt",
            f'{{start}} {_AIDER} --message "$FOLLOW_UP" --read two.txt',
        ),
        requests=2,
        small_requests=1,
        calls=REPEATED,
        rewrites=True,
    ),
    "llm": CodingClient(
        "llm",
        "home/llm/extra-openai-models.yaml",
        ('{start} --functions "$PROGRAMS/file_tools.py" "$TASK"', 'llm -c "$FOLLOW_UP"'),
    ),
    "openai-agents": CodingClient(
        "openai-agents",
        "work/block.py",
        _AGENTS,
        calls=WHOLE,
    ),
    "openai-agents, chat": CodingClient(
        "openai-agents",
        "work/block.py",
        _AGENTS,
        calls=WHOLE,
        changes={"OpenAIResponsesModel": "OpenAIChatCompletionsModel"},
    ),
    "langchain": CodingClient(
        "langchain",
        "work/block.py",
        _LANGCHAIN,
    ),
    "langchain, chat": CodingClient(
        "langchain",
        "work/block.py",
        _LANGCHAIN,
        changes={"use_responses_api=True": "use_responses_api=False"},
    ),
    "ai-sdk": CodingClient("ai-sdk", "work/block.mjs", _AI, ending=_EXPORT),
    "ai-sdk, chat": CodingClient(
        "ai-sdk",
        "work/block.mjs",
        _AI,
        changes={"conductor(": "conductor.chat("},
        ending=_EXPORT,
    ),
    "ai-sdk, openai-compatible": CodingClient(
        "ai-sdk",
        "work/block.mjs",
        _AI,
        changes={
            "createOpenAI": "createOpenAICompatible",
            '"@ai-sdk/openai"': '"@ai-sdk/openai-compatible"',
            "{ baseURL": '{ name: "conductor", includeUsage: true, baseURL',
        },
        ending=_EXPORT,
    ),
}
