"""A small Llama is read from its folder, whole or not at all, and continues a text token by token."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from conductor.errors import PoolError
from conductor.llama.checkpoint import CONFIG, TOKENIZER, WEIGHTS
from conductor.llama.numpy_llama import Cache, Llama, read_llama
from conductor.planner.local.local_prompt import prompt_text
from tests.support.runs.local_conductor import WORKERS, write_untrained


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_untrained(tmp_path_factory.mktemp("llama") / "untrained")


@pytest.fixture(scope="module")
def llama(whole: Path) -> Llama:
    return read_llama(whole)


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "copy")


def _prompt(llama: Llama) -> list[int]:
    return llama.read(prompt_text("How many letters has the capital of Peru?", WORKERS))


@pytest.mark.slow
def test_logits_are_the_same_read_at_once_or_token_by_token(llama: Llama):
    ids = _prompt(llama)
    at_once = llama.logits(ids, Cache(llama.config, len(ids)))
    cache = Cache(llama.config, len(ids))
    in_pieces = [llama.logits(ids[:7], cache), *(llama.logits([token], cache) for token in ids[7:])]
    np.testing.assert_allclose(np.concatenate(in_pieces), at_once, rtol=2e-4, atol=2e-3)


@pytest.mark.slow
def test_the_likeliest_tokens_are_always_the_same_and_a_draw_gives_others(llama: Llama):
    ids = _prompt(llama)
    written = [llama.write(ids, most=12, forbidden=lambda _: ()) for _ in range(2)]
    assert written[0] == written[1]
    assert len(written[0].tokens) == 12
    assert not written[0].ended
    draws = [
        llama.write(ids, most=12, forbidden=lambda _: (), temperature=5, draw=np.random.default_rng(seed))
        for seed in (1, 1, 2)
    ]
    assert draws[0] == draws[1] != draws[2]
    assert written[0].mean > draws[0].mean
    assert written[0].read_mean == draws[0].read_mean


def test_forbidden_tokens_are_never_written_and_the_others_are_likelier_for_it(llama: Llama):
    ids = _prompt(llama)
    free = llama.write(ids, most=1, forbidden=lambda _: ())
    held = llama.write(ids, most=1, forbidden=lambda _: free.tokens)
    assert held.tokens != free.tokens
    every = frozenset(range(llama.config.vocab_size))
    (only,) = llama.write(ids, most=1, forbidden=lambda _: every - {5}).tokens
    assert only == 5


def test_an_end_is_no_token_of_the_text_and_counts_in_its_mean(llama: Llama):
    every = frozenset(range(llama.config.vocab_size))
    end = llama.config.eos_token_id
    written = llama.write(_prompt(llama), most=9, forbidden=lambda tokens: every - {end if tokens else 7})
    assert (written.tokens, written.ended, written.mean) == ((7,), True, 0.0)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_continuation_ends_with_the_positions_of_the_model(llama: Llama):
    ids = [7] * (llama.config.max_position_embeddings - 3)
    assert len(llama.write(ids, most=9, forbidden=lambda _: (llama.config.eos_token_id,)).tokens) == 3
    with pytest.raises(ValueError, match="nothing to continue"):
        llama.write([], most=9, forbidden=lambda _: ())


@pytest.mark.slow
def test_a_folder_is_read_once_as_long_as_its_files_stay(folder: Path):
    first = read_llama(folder)
    assert read_llama(folder) is first
    write_untrained(folder, seed=5)
    assert read_llama(folder) is not first


def _config(**changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / CONFIG
        file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | changes), encoding="utf-8")

    return change


def _without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def _instead(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content)


def _cut(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:-4])


def _half(folder: Path) -> None:
    file = folder / WEIGHTS
    file.write_bytes(file.read_bytes().replace(b'"F32"', b'"F16"', 1))


def _no_number(folder: Path) -> None:
    file = folder / WEIGHTS
    file.write_bytes(file.read_bytes()[:-4] + np.float32(np.nan).tobytes())


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (shutil.rmtree, "is not a folder"),
        (_without(CONFIG), "has no config.json"),
        (_without(WEIGHTS), "has no model.safetensors"),
        (_without(TOKENIZER), "has no tokenizer.json"),
        (_instead(CONFIG, b"{"), "is not JSON"),
        (_instead(CONFIG, b"[]"), "of the type 'None'"),
        (_config(model_type="qwen2"), "of the type 'qwen2'.*conductor vllm --model"),
        (_config(hidden_size="many"), "config.json, hidden_size: Input should be a valid integer"),
        (_config(hidden_act="gelu"), "config.json, hidden_act.*Only plain Llamas"),
        (_config(rope_parameters={"rope_type": "llama3"}), "rope_parameters.rope_type"),
        (_config(rope_scaling={"type": "linear"}, rope_parameters=None), "rope_parameters"),
        (_config(num_key_value_heads=3), "does not divide"),
        (_config(num_hidden_layers=4), "has no model.layers.3"),
        (_config(intermediate_size=7), "has the shape 192 x 64, and its config.json requires 7 x 64"),
        (_config(tie_word_embeddings=False), "has no lm_head.weight"),
        (_config(eos_token_id=99_999), "eos_token_id"),
        (_instead(WEIGHTS, b"not tensors"), "is not a whole safetensors file"),
        (_instead(WEIGHTS, b"\x02\0\0\0\0\0\0\0[]"), "is not a whole safetensors file"),
        (_cut, "is not a whole safetensors file"),
        (_half, "as F16; save the model in float32"),
        (_no_number, "not numbers"),
        (_instead(TOKENIZER, b"{}"), "is not a tokenizer.json"),
    ],
)
def test_a_folder_that_is_not_whole_is_refused_with_its_reason(
    folder: Path, broken: Callable[[Path], object], message: str
):
    broken(folder)
    with pytest.raises(PoolError, match=message):
        read_llama(folder)


def test_a_model_that_is_too_large_is_refused_with_what_serves_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("conductor.llama.checkpoint.MOST_BYTES", 1_000)
    with pytest.raises(PoolError, match=r"more than 1,000 bytes.*conductor vllm"):
        read_llama(folder)
