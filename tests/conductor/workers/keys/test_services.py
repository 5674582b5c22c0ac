"""A key that was pasted is recognised by how it begins, or the person is asked; so is a wrong address."""

from __future__ import annotations

import pytest

from conductor.workers.keys.services import HOSTED, LOCAL, correct_base_url, service_of


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("sk-proj-0123456789", "OpenAI"),
        ("sk-0123456789T3BlbkFJ0123456789", "OpenAI"),
        ("sk-ant-api03-0123456789", "Anthropic"),
        ("sk-or-v1-0123456789", "OpenRouter"),
        ("gsk_0123456789", "Groq"),
        ("AIza0123456789", "Google"),
        ("tgp_v1_0123456789", "Together"),
        ("sk-0123456789", None),
        ("0123456789abcdef", None),
        ("", None),
    ],
)
def test_a_key_is_recognised_by_how_it_begins(key, name):
    service = service_of(key)
    assert (service and service.name) == name


@pytest.mark.parametrize(
    ("base_url", "correction"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1"),  # Ollama, vLLM, llama.cpp, LM Studio
        ("http://127.0.0.1:11434/", "http://127.0.0.1:11434/v1"),
        ("http://127.0.0.1:11434/api", "http://127.0.0.1:11434/v1"),
        ("http://127.0.0.1:11434/api/chat", "http://127.0.0.1:11434/v1"),
        ("http://[::1]:1234/v1/chat/completions", "http://[::1]:1234/v1"),
        ("http://127.0.0.1:8000/v1/models", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/completions/", "http://127.0.0.1:8000/v1"),
        ("https://api.openai.com/", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/responses", "https://api.openai.com/v1"),
        ("https://api.anthropic.com", "https://api.anthropic.com/v1"),
        ("https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1"),
        (
            "https://generativelanguage.googleapis.com/v1beta",
            "https://generativelanguage.googleapis.com/v1beta/openai",
        ),
        (
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent",
            "https://generativelanguage.googleapis.com/v1beta/openai",
        ),
        ("https://openrouter.ai", "https://openrouter.ai/api/v1"),
        ("https://openrouter.ai/v1", "https://openrouter.ai/api/v1"),
        ("https://api.groq.com/v1", "https://api.groq.com/openai/v1"),
        ("https://api.mistral.ai", "https://api.mistral.ai/v1"),
        ("https://api.deepseek.com/anthropic", "https://api.deepseek.com/v1"),
        (
            "https://dashscope-intl.aliyuncs.com/api/v1",
            "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        ),
        ("https://api.minimax.io/v1/text/chatcompletion_v2", "https://api.minimax.io/v1"),
        ("https://own.openai.azure.com", "https://own.openai.azure.com/openai/v1"),
        (
            "https://own.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
            "https://own.openai.azure.com/openai/v1",
        ),
        ("https://host/gateway/v1/chat/completions?tenant=a", "https://host/gateway/v1?tenant=a"),
        ("https://host/gateway/v1", None),
        ("https://host/v1/projects/p/locations/l/endpoints/openapi", None),
        ("https://notopenrouter.ai/models", None),
        *((service.base_url, None) for service in (*HOSTED, *LOCAL.values())),
    ],
)
def test_an_address_at_which_nothing_answers_leads_to_the_one_that_was_meant(base_url, correction):
    assert correct_base_url(base_url) == correction


def test_no_mark_begins_another_services_keys():
    marks = [mark for service in HOSTED for mark in service.marks]
    assert all(service_of(f"{mark}x").marks.count(mark) for mark in marks)
