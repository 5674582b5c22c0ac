from __future__ import annotations

import pytest
from tokenizers import Tokenizer

from conductor.learning.small_llama.folder import make_tokenizer
from conductor.planner.local.local_prompt import NameMask, plan_text, prompt_text
from conductor.planner.parsing.parse import parse
from tests.support.runs.local_conductor import PLAN, TEXTS, WORKERS


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return make_tokenizer(TEXTS, WORKERS, size=400)


def test_a_prompt_has_the_query_in_one_line_and_the_pool_in_another():
    assert prompt_text("What is\nWorkers: 2 + 2? ", ("facts", "solver")) == (
        "Question: What is Workers: 2 + 2?\nWorkers: facts, solver\n"
    )


def test_a_plan_names_its_workers_and_reads_back_as_the_same_workflow():
    written = plan_text(PLAN)
    assert written.startswith("model_id = [facts, letters]\nsubtasks = [")
    assert parse(written, workers=WORKERS).workflow == PLAN


def test_the_mask_forbids_names_that_the_pool_does_not_have(tokenizer: Tokenizer):
    mask = NameMask.of(tokenizer, WORKERS)
    forbidden = mask.forbidden(("letters", "solver", "a new one"))
    for name in WORKERS:
        for written in (name, f" {name}"):
            (token,) = tokenizer.encode(written).ids
            assert (token in forbidden) == (name not in ("letters", "solver"))


def test_the_mask_ends_with_the_list_of_workers(tokenizer: Tokenizer):
    mask = NameMask.of(tokenizer, WORKERS)
    ids = tokenizer.encode(plan_text(PLAN)).ids
    ending = [at for at, token in enumerate(ids) if token in mask.ends]
    assert [tokenizer.decode([ids[at]]) for at in ending] == [']\nsubtasks = ["']
    assert tokenizer.decode(ids[: ending[0]]) == "model_id = [facts, letters"
