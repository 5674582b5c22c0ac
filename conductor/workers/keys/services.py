"""The services that are known: where each serves its models, the variable of its key, how its keys begin.

Pure. Knows names and addresses, never a key beyond the one that it is asked about.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit


class Service(NamedTuple):
    """A place where models are served by OpenAI's chat completions.

    `api_key_env` is None if no key is needed. `marks` are what only its keys begin with.
    """

    name: str
    base_url: str
    api_key_env: str | None = None
    marks: tuple[str, ...] = ()


HOSTED = (
    Service("OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY", ("sk-proj-", "sk-svcacct-")),
    Service("Anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", ("sk-ant-",)),
    Service("Google", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", ("AIza",)),
    Service("OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", ("sk-or-",)),
    Service("Together", "https://api.together.ai/v1", "TOGETHER_API_KEY", ("tgp_v1_",)),
    Service("Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", ("gsk_",)),
    Service("Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    Service("DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
)

LOCAL = {
    11434: Service("Ollama", "http://127.0.0.1:11434/v1"),
    1234: Service("LM Studio", "http://127.0.0.1:1234/v1"),
    8080: Service("llama.cpp", "http://127.0.0.1:8080/v1"),
    8000: Service("vLLM", "http://127.0.0.1:8000/v1"),
}
"""By the port at which each listens unless it is set to another."""

_PATHS = {
    **{(at := urlsplit(service.base_url)).hostname or "": at.path for service in HOSTED},
    # https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle
    **dict.fromkeys(("openai.azure.com", "services.ai.azure.com"), "/openai/v1"),
    **dict.fromkeys(("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"), "/compatible-mode/v1"),
    **dict.fromkeys(("api.minimax.io", "api.minimaxi.com"), "/v1"),
}
"""Where these hosts, or those below them, have OpenAI's chat completions; most have other protocols, too."""

CALL = re.compile(
    r"/(?:(?:chat/)?completions|responses|messages|embeddings|text/chatcompletion\w*|api/(?:chat|generate)|"
    r"models/[^/]+:\w+|(?<=/v1/)models)/*$"
)
"""How the address of one call ends: of OpenAI, Anthropic, MiniMax, Ollama and Gemini."""

_IN_OPENAI_KEYS = "T3BlbkFJ"
"""Also in those of its keys that begin only with "sk-", as several services' do."""


def correct_base_url(base_url: str) -> str | None:
    """The base URL to write for one at which nothing answers, or None if it looks right."""
    parts = urlsplit(base_url)
    own, host = parts.path.rstrip("/"), parts.hostname or ""
    fixed_path = next((path for name, path in _PATHS.items() if f".{host}".endswith(f".{name}")), None)
    path = CALL.sub("", own) if fixed_path is None else fixed_path
    path = "/v1" if path in ("", "/api") else path
    return (
        None if path == own else parts._replace(path=path, query="" if fixed_path else parts.query).geturl()
    )


def service_of(key: str) -> Service | None:
    """The service whose keys look so, or None if there is not exactly one."""
    if _IN_OPENAI_KEYS in key:
        return HOSTED[0]
    return next((service for service in HOSTED if key.startswith(service.marks or ("\0",))), None)
