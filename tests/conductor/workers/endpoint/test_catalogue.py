"""Lists of models are read in each form that servers send; what is odd in one costs that entry at most."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conductor.workers.endpoint.catalogue import ServedModel, read_catalogue
from conductor.workers.keys.mask import NO_KEYS, Mask

FORMS: dict[str, tuple[Any, list[str]]] = {
    "OpenAI": ({"object": "list", "data": [{"id": "a", "object": "model", "created": 1}]}, ["a"]),
    "Anthropic": ({"data": [{"type": "model", "id": "a", "display_name": "A"}], "has_more": False}, ["a"]),
    "Ollama without models": ({"object": "list", "data": None}, []),
    "a frame alone": ({"object": "list"}, []),
    "no models": ({"data": []}, []),
    "Together": ([{"id": "a"}, {"id": "b"}], ["a", "b"]),
    "names in a list": (["a", "b"], ["a", "b"]),
    "names in data": ({"data": ["a", "b"]}, ["a", "b"]),
    "Ollama /api/tags": ({"models": [{"name": "l:latest", "model": "l:latest", "size": 1}]}, ["l:latest"]),
    "Gemini": ({"models": [{"name": "models/gemini-2.5-flash"}]}, ["models/gemini-2.5-flash"]),
    "llama.cpp": ({"models": [{"name": "x.gguf"}], "data": [{"id": "x.gguf"}]}, ["x.gguf"]),
    "LM Studio": ({"models": [{"type": "llm", "key": "a"}]}, ["a"]),
    "a path": ({"data": [{"id": "C:\\models\\my model.gguf"}]}, ["C:\\models\\my model.gguf"]),
    "Cloudflare": ({"success": True, "result": [{"id": "uuid", "name": "@cf/a"}], "errors": []}, ["@cf/a"]),
    "Together by a proxy": ({"body": [{"id": "a"}]}, ["a"]),
    "by name": ({"data": {"a": {"owned_by": "x"}, "b": {"id": "c"}}}, ["a", "c"]),
    "a frame in a frame": ({"data": {"data": [{"id": "a"}]}}, ["a"]),
    "watsonx": (
        {"total_count": 2, "resources": None, "models": [{"model_id": "ibm/granite"}]},
        ["ibm/granite"],
    ),
    "LiteLLM's info": ({"data": [{"model_name": "a", "litellm_params": {"model": "x/a"}}]}, ["a"]),
    "Azure's deployments": ({"value": [{"name": "d", "properties": {"model": {}}}], "nextLink": None}, ["d"]),
    "pages": ({"items": [{"id": "a"}], "total": 1, "page": 1}, ["a"]),
    "LM Studio's own": (
        {"data": [{"id": "pub/m@q4_k_m", "type": "vlm", "state": "loaded"}]},
        ["pub/m@q4_k_m"],
    ),
    "GitHub": ([{"id": "openai/gpt", "name": "GPT", "registry": "azure"}], ["openai/gpt"]),
    "Hugging Face's router": ({"data": [{"id": "a/b", "providers": [{"context_length": 1}]}]}, ["a/b"]),
    "vLLM's adapters": ({"data": [{"id": "m"}, {"id": "lora", "root": "/l", "parent": "m"}]}, ["m", "lora"]),
    "an id that is a list": ({"data": [{"id": ["a"]}, {"id": {"x": 1}}, {"id": 1.5}, {"id": "b"}]}, ["b"]),
    "an id with a line break": ({"data": [{"id": "a\nb"}, {"id": "a\ud83d"}, {"id": "b"}]}, ["b"]),
    "letters": ({"data": [{"id": "模型"}, {"id": "m:free"}]}, ["模型", "m:free"]),
    "an id that is null": ({"data": [{"id": "a"}, {"id": None}, {"id": None, "name": "b"}]}, ["a", "b"]),
    "an id that is a number": ({"data": [{"id": 7}, {"id": True}, {"id": "b"}]}, ["7", "b"]),
    "no entries": ({"data": [{"id": "a"}, None, "b", 3, []]}, ["a", "b"]),
    "LiteLLM": ({"data": [{"id": "a"}, {"id": "b"}, {"id": "a"}]}, ["a", "b"]),
    # tools/server/README.md: a router's models have a state; a model's file is named with its repository.
    "llama.cpp's router": (
        {
            "object": "list",
            "data": [{"id": "a/b-GGUF:Q4_K_M", "in_cache": True, "status": {"value": "unloaded"}}],
        },
        ["a/b-GGUF:Q4_K_M"],
    ),
    "Mistral's aliases": (
        {"data": [{"id": "small-latest", "name": "small-2506", "aliases": ["small-2506"], "type": "base"}]},
        ["small-latest"],
    ),
    "OpenRouter's": ({"data": [{"id": "a/b:free", "canonical_slug": "a/b", "name": "A: B"}]}, ["a/b:free"]),
    "Gemini's protocol of OpenAI": (
        {"object": "list", "data": [{"id": "models/g", "object": "model", "display_name": "G"}]},
        ["models/g"],
    ),
    "LM Studio's instances": ({"models": [{"key": "a/b", "loaded_instances": [{"id": "a/b"}]}]}, ["a/b"]),
    "Fireworks": ({"data": [{"id": "accounts/f/models/a", "supports_chat": True}]}, ["accounts/f/models/a"]),
    "blanks": ({"data": [{"id": ""}, {"id": " a "}]}, ["a"]),
    "half a character": ({"data": [{"id": "a\ud83d"}, {"id": "a\nb"}, {"id": "b"}]}, ["b"]),
    "an owner that is none": ({"data": [{"id": "a", "owned_by": {"id": "x"}}, {"id": "b"}]}, ["a", "b"]),
    "beside an error": ({"data": [{"id": "a"}], "error": None}, ["a"]),
}


@pytest.mark.parametrize(("listing", "names"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_models_of_a_list_are_read_in_each_form(listing: Any, names: list[str], encoding: str) -> None:
    assert [model.name for model in read_catalogue(json.dumps(listing).encode(encoding), NO_KEYS)] == names


@pytest.mark.parametrize(
    ("fields", "context"),
    [
        ('"max_model_len": 4096', 4096),  # vLLM
        ('"context_length": "8192"', 8192),
        ('"context_length": 8192.0', 8192),
        ('"max_model_len": null, "context_window": 9', 9),  # Groq
        ('"inputTokenLimit": 1048576', 1_048_576),  # Gemini
        ('"max_input_tokens": 200000, "has_more": true', 200_000),  # Anthropic
        ('"limits": {"max_input_tokens": 1048576, "max_output_tokens": 32768}', 1_048_576),  # GitHub
        ('"model_info": {"max_input_tokens": 128000, "mode": "chat"}, "limits": null', 128_000),  # LiteLLM
        ('"max_context_length": 32768, "loaded_context_length": 4096', 4096),  # LM Studio
        ('"max_context_length": 131072, "capabilities": {"completion_chat": true}', 131_072),  # Mistral
        # llama.cpp: what the model was trained with, and what all slots have together.
        ('"meta": {"n_ctx_train": 131072, "n_ctx": 8192}', None),
        ('"context_length": "8k"', None),
        ('"context_length": -1', None),  # Together, of a model of images
        ('"context_length": 0', None),
        ('"context_length": true', None),
        ('"context_length": 1e30', None),
        ('"context_length": 1e999', None),
        (f'"context_length": {"9" * 5_000}', None),
        ('"context_length": NaN, "max_model_len": {"x": 1}', None),
    ],
)
def test_a_context_that_is_no_number_of_tokens_is_unknown(fields: str, context: int | None) -> None:
    body = f'{{"data": [{{"id": "a", "owned_by": "vllm", {fields}}}]}}'
    assert read_catalogue(body.encode(), NO_KEYS) == (ServedModel(name="a", owner="vllm", context=context),)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>login</html>", "cannot be read"),
        (b"", "cannot be read"),
        (b"null", "cannot be read"),
        (b'{"status": "ok"}', "cannot be read"),
        (b"Ollama is running", "cannot be read"),
        (b'{"error": "Unexpected endpoint or method. (GET /models)"}', "of models: Unexpected endpoint"),
        (b'{"data": [{"id": "a"}]}\n{"data": []}', "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b'{"error": {"message": "no key sk-marked"}}', r"in place of its list of models: no key \*\*\*"),
    ],
)
def test_what_is_no_list_is_refused_with_the_servers_words(body: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_catalogue(body, Mask(["sk-marked"]))
