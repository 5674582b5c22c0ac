"""The services that are known: where each serves its models, the variable of its key, how its keys begin.

Pure. Knows names and addresses, never a key beyond the one that it is asked about.
"""

from __future__ import annotations

from typing import NamedTuple


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

_IN_OPENAI_KEYS = "T3BlbkFJ"
"""Also in those of its keys that begin only with "sk-", as several services' do."""


def service_of(key: str) -> Service | None:
    """The service whose keys look so, or None if there is not exactly one."""
    if _IN_OPENAI_KEYS in key:
        return HOSTED[0]
    return next((service for service in HOSTED if key.startswith(service.marks or ("\0",))), None)
