"""What the names of models show: other work is not offered, the newest is taken, workers get short names."""

from __future__ import annotations

import pytest

from conductor.workers.discovery.models import (
    answers_questions,
    newest,
    strengths_of,
    strongest,
    worker_name,
)
from conductor.workers.discovery.offers import _FAMILIES
from conductor.workers.endpoint.catalogue import ServedModel

LISTS = {
    "OpenAI": (
        "gpt-3.5-turbo gpt-4o gpt-4o-mini gpt-4.1-mini gpt-5 gpt-5.1 gpt-5.1-2025-11-13 o3 "
        "gpt-5-mini gpt-5-mini-2025-08-07 gpt-4o-search-preview text-embedding-3-large whisper-1 gpt-5-codex",
        ["gpt-5.1", "gpt-5-mini"],
    ),
    "Anthropic": (
        "claude-opus-4-1-20250805 claude-sonnet-4-5-20250929 claude-sonnet-4-20250514 "
        "claude-haiku-4-5-20251001 claude-3-7-sonnet-20250219 claude-3-5-haiku-20241022",
        ["claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001"],
    ),
    "Google": (
        "models/gemini-2.5-pro models/gemini-2.5-flash models/gemini-2.0-flash models/gemini-embedding-001 "
        "models/gemini-2.5-flash-image models/gemini-3-pro-preview",
        ["models/gemini-3-pro-preview", "models/gemini-2.5-flash"],
    ),
    "OpenRouter": (
        "anthropic/claude-sonnet-4 anthropic/claude-sonnet-4.5 openai/gpt-5 google/gemini-2.5-pro x/y",
        ["anthropic/claude-sonnet-4.5", "openai/gpt-5", "google/gemini-2.5-pro"],
    ),
    "Mistral": (
        "codestral-latest mistral-large-2411 mistral-large-latest mistral-embed",
        ["mistral-large-latest", "codestral-latest"],
    ),
    "DeepSeek": ("deepseek-chat deepseek-reasoner", ["deepseek-chat", "deepseek-reasoner"]),
}


@pytest.mark.parametrize("service", LISTS)
def test_the_newest_of_each_family_is_taken(service):
    listed, expected = LISTS[service]
    assert list(newest(listed.split(), _FAMILIES[service])) == expected
    assert list(newest(reversed(listed.split()), _FAMILIES[service])) == expected


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("gemma3:27b", True),
        ("deepseek-r1:8b", True),
        ("nomic-embed-text:latest", False),
        ("bge-m3", False),
        ("whisper-large-v3", False),
        ("llama-guard3:8b", False),
        ("two\nlines", False),
        ("x" * 201, False),
        ("", False),
    ],
)
def test_models_for_other_work_are_not_offered(name, answers):
    assert answers_questions(name) is answers


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("qwen3-coder:30b", "code"),
        ("gemini-2.5-pro", "hard questions"),
        ("gpt-5-mini", "quick"),
        ("llama3.2:3b", "quick"),
        ("qwen3:32b", "mathematics and code"),
        ("gemma3:27b", "everyday"),
    ],
)
def test_a_name_shows_what_a_model_is_good_at(name, words):
    assert str(strengths_of(name)).startswith(words)


def test_a_name_that_shows_nothing_has_no_strengths():
    assert strengths_of("default") is None


def test_the_largest_plans_and_without_sizes_the_first():
    sizes = [ServedModel(name=name) for name in ("qwen3:8b", "gemma3:27b", "phi4")]
    assert strongest(sizes).name == "gemma3:27b"
    assert strongest([ServedModel(name="one"), ServedModel(name="two")]).name == "one"


@pytest.mark.parametrize(
    ("model", "used_names", "name"),
    [
        ("gemma3:27b", (), "gemma3"),
        ("gemma3:4b", ("gemma3",), "gemma3-4b"),
        ("gemma3:4b", ("gemma3", "gemma3-4b"), "gemma3-2"),
        ("Qwen/Qwen3-32B", (), "Qwen3-32B"),
        ("claude-haiku-4-5-20251001", (), "claude-haiku-4-5"),
        ("maker/", (), "maker"),
        ("/", (), "/"),
        (r"C:\models\my model.gguf", (), "my model.gguf"),
        (r"\\server\models\x.gguf", (), "x.gguf"),
        ("/home/u/models/qwen2.5-7b-q4_k_m.gguf", (), "qwen2.5-7b-q4_k_m.gguf"),
        ("models/gemini-2.5-flash", (), "gemini-2.5-flash"),
        ("@cf/meta/llama-3-8b-instruct", (), "llama-3-8b-instruct"),
        ("hf.co/bartowski/Llama-3.2-1B-GGUF:Q4_K_M", (), "Llama-3.2-1B-GGUF"),
    ],
)
def test_a_workers_name_is_the_models_shortest_that_is_free(model, used_names, name):
    assert worker_name(model, used_names) == name
