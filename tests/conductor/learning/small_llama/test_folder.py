from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from conductor.learning.small_llama.folder import as_safetensors
from conductor.planner.local.card import CARD, read_card
from tests.support.runs.local_conductor import TEXTS, WORKERS, write_untrained


def test_a_folder_has_what_hugging_face_and_we_read(tmp_path: Path):
    folder = write_untrained(tmp_path / "made")
    assert {file.name for file in folder.iterdir()} == {
        *("config.json", "generation_config.json", "model.safetensors", "tokenizer.json"),
        *("tokenizer_config.json", CARD),
    }
    assert read_card(folder).workers == WORKERS
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    for text in (*TEXTS, "Grüße, 12 apples\tand 'x'?"):
        assert tokenizer.decode(tokenizer.encode(text).ids) == text


@pytest.mark.slow
def test_a_folder_takes_the_place_of_the_one_before(tmp_path: Path):
    folder = write_untrained(tmp_path / "made", seed=1)
    before = (folder / "model.safetensors").read_bytes()
    (folder / "left over").touch()
    write_untrained(folder, seed=2)
    assert (folder / "model.safetensors").read_bytes() != before
    assert not (folder / "left over").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_weights_are_written_with_their_shapes_and_places():
    first, second = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([0.5], dtype=np.float32)
    written = as_safetensors({"b": second, "a": first})
    size = int.from_bytes(written[:8], "little")
    header = json.loads(written[8 : 8 + size])
    assert size % 8 == 0
    for name, array in (("a", first), ("b", second)):
        entry = header[name]
        begin, end = entry["data_offsets"]
        read = np.frombuffer(written[8 + size + begin : 8 + size + end], np.float32).reshape(entry["shape"])
        assert entry["dtype"] == "F32"
        np.testing.assert_array_equal(read, array)
