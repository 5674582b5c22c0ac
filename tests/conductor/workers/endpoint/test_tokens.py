"""Tokens are counted as their reader counts them, by its tokenizer or its rule; else they are estimated."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.errors import PoolError
from conductor.values.messages import Completion, Message, Part, Request
from conductor.workers.endpoint.tokens import read_tokenizer, request_shares, stretches
from conductor.workers.pool.pool import parse_pool, read_pool
from conductor.workers.pool.toml_editor import PoolDocument
from conductor.workers.pool.toml_file import named_files
from conductor.workers.protocol import WorkerCard
from conductor.workers.simulated import SimulatedWorker
from tests.support.cases.tokenizer_cases import HARD, whole_count, write_tokenizer

MODEL = """\
[[worker]]
name = "alpha"
base_url = "http://localhost:1/v1"
model = "a"
tokenizer = "{tokenizer}"
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json")


@pytest.mark.parametrize("text", HARD, ids=range(len(HARD)))
def test_one_text_has_the_tokens_that_the_library_finds(file: Path, text: str) -> None:
    readable = text.replace("\ud800", "\ufffd")
    assert read_tokenizer(file).counts([text]) == (whole_count(file, readable),)


@given(texts=st.lists(st.sampled_from([*HARD, "the question", " is the", "answer", "ans"]), max_size=8))
def test_parts_sum_to_the_whole_however_it_is_cut(file: Path, texts: list[str]) -> None:
    tokenizer = read_tokenizer(file)
    counts = tokenizer.counts(texts)
    assert len(counts) == len(texts)
    assert sum(counts) == sum(tokenizer.counts(["".join(texts)]))


def test_a_word_that_grows_together_counts_where_it_begins(file: Path) -> None:
    tokenizer = read_tokenizer(file)
    assert tokenizer.counts(["answer"]) == tokenizer.counts(["ans", "wer"])[:1]
    assert tokenizer.counts(["ans", "wer"])[1] == 0


def test_a_file_that_shows_how_to_cut_a_batch_still_counts_all(tmp_path: Path) -> None:
    file = write_tokenizer(tmp_path / "cutting.json", limit=5)
    tokenizer = read_tokenizer(file)
    assert tokenizer.counts(["x" * 300]) == (whole_count(file, "x" * 300),)
    assert tokenizer.counts(["x"]) == (1,)


def test_a_file_is_read_once_and_again_when_it_has_changed(tmp_path: Path, file: Path) -> None:
    mine = tmp_path / "tokenizer.json"
    mine.write_bytes(file.read_bytes())
    first = read_tokenizer(mine)
    assert read_tokenizer(mine) is first
    os.utime(mine, ns=(1, 1))
    assert read_tokenizer(mine) is not first


@given(texts=st.lists(st.text("a b\n", max_size=6), max_size=5))
def test_the_fakes_rule_counts_stretches_between_spaces(texts: list[str]) -> None:
    counts = stretches(texts)
    assert all(count >= 0 for count in counts)
    if texts:
        assert sum(counts) == len("".join(texts).split(" "))


def test_a_stretch_counts_for_the_text_in_which_it_begins() -> None:
    assert stretches(["one two", "three four ", "five"]) == (2, 1, 1)
    assert stretches(["one ", ""]) == (1, 1)


# -- of a request's parts --------------------------------------------------------------------------

REQUEST = Request(
    messages=(
        Message(
            role="user",
            parts=(
                Part("frame", "Answer the question.\n<q>\n"),
                Part("query", "what is the  number of the step?"),
                Part("frame", "\n</q>\n"),
                Part("response", "the answer is the number ", 0, "beta"),
                Part("frame", "\nYour task: "),
                Part("instruction", "check the answer"),
            ),
        ),
    )
)
TEXT = REQUEST.messages[0].content


def card_of(tokenizer: Path | None = None) -> WorkerCard:
    return WorkerCard(
        name="m",
        kind="model",
        strengths="",
        model="m",
        tokenizer=None if tokenizer is None else str(tokenizer),
    )


async def test_a_simulated_worker_is_counted_as_it_counts_itself() -> None:
    items = [item async for item in SimulatedWorker(name="s").stream(REQUEST)]
    assert isinstance(items[-1], Completion)
    shares = request_shares(REQUEST, kind="simulated")
    assert (shares.unit, shares.exact) == ("tokens", True)
    assert shares.total == items[-1].usage.prompt_tokens


def test_a_model_whose_tokenizer_is_known_is_counted_by_it(tmp_path: Path) -> None:
    file = write_tokenizer(tmp_path / "tokenizer.json")
    shares = request_shares(REQUEST, kind="model", card=card_of(file), reported=99)
    assert (shares.unit, shares.exact, shares.reported) == ("tokens", True, 99)
    assert shares.total == whole_count(file, TEXT)


@pytest.mark.parametrize("reported", [None, 0, 1, 57, 1_000_003])
def test_any_other_model_is_estimated_to_sum_to_what_its_endpoint_counted(reported: int | None) -> None:
    shares = request_shares(REQUEST, kind="model", card=card_of(), reported=reported)
    assert (shares.unit, shares.exact) == ("tokens", False)
    assert shares.total == (-(-len(TEXT) // 4) if reported is None else reported)


def test_a_built_in_expert_reads_characters() -> None:
    shares = request_shares(REQUEST, kind="offline")
    assert (shares.unit, shares.exact, shares.total) == ("characters", True, len(TEXT))


def test_a_worker_that_is_in_the_pool_no_more_is_still_reported() -> None:
    assert not request_shares(REQUEST, kind="model", card=None).exact


def test_a_tokenizer_that_went_away_is_an_error_and_no_silent_estimate(tmp_path: Path) -> None:
    file = write_tokenizer(tmp_path / "tokenizer.json")
    request_shares(REQUEST, kind="model", card=card_of(file))
    file.unlink()
    with pytest.raises(PoolError, match="cannot be read"):
        request_shares(REQUEST, kind="model", card=card_of(file))


# -- in the pool file --------------------------------------------------------------------------------


def test_the_pool_file_names_it_from_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tokenizer(tmp_path / "models" / "a.json")
    (tmp_path / "pool.toml").write_text(MODEL.format(tokenizer="models/a.json"), encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    card = read_pool(tmp_path / "pool.toml").cards["alpha"]
    assert card.tokenizer == str(tmp_path / "models" / "a.json")
    assert PoolDocument.opened(tmp_path / "pool.toml").pool().cards["alpha"].tokenizer == card.tokenizer


def test_a_home_folder_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = write_tokenizer(tmp_path / "a.json")
    assert parse_pool(MODEL.format(tokenizer="~/a.json")).cards["alpha"].tokenizer == str(file)


def test_another_tokenizer_makes_no_step_run_again(file: Path) -> None:
    plain = parse_pool(MODEL.replace('tokenizer = "{tokenizer}"\n', "")).cards["alpha"]
    exact = parse_pool(MODEL.format(tokenizer=file)).cards["alpha"]
    assert plain.tokenizer is None
    assert plain.identity == exact.identity


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.json", None, "cannot be read: No such file or directory. Download the model's"),
        ("no\\u0000name", None, "cannot be read: "),
        ("", None, "String should have at least 1 character"),
        (".", None, "is a folder; name the tokenizer.json in it."),
        ("/dev/zero", None, "is not a file; name the model's tokenizer.json."),
        ("empty.json", "", "is not a tokenizer.json of the tokenizers library: "),
        ("other.json", '{"name": "conductor"}', "is not a tokenizer.json of the tokenizers library: "),
        ("cut.json", '{"model": {"type": "BPE", "vocab": {"a"', "is not a tokenizer.json of the tokenizers"),
    ],
)
def test_a_fault_is_reported_with_its_line(
    tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    pool = tmp_path / "pool.toml"
    pool.write_text(MODEL.format(tokenizer=name), encoding="utf-8")
    with pytest.raises(PoolError, match="line 5: worker 1, tokenizer: ") as error:
        read_pool(pool)
    assert message in str(error.value)
    assert (error.value.line, error.value.key) == (5, "tokenizer")
    assert error.value.reason is not None
    assert message in error.value.reason


def test_only_a_model_has_one(tmp_path: Path) -> None:
    fake = '[[worker]]\nkind = "simulated"\nname = "alpha"\ntokenizer = "a.json"\n'
    with pytest.raises(PoolError, match="tokenizer: unknown key"):
        parse_pool(fake)


def test_the_files_that_are_named_are_known_before_they_are_there(tmp_path: Path) -> None:
    text = MODEL.format(tokenizer="a.json") + MODEL.format(tokenizer="/b/c.json")
    assert named_files(text, tmp_path) == (tmp_path / "a.json", Path("/b/c.json"))
    for broken in ("[[worker]\n", "worker = 3\n", "worker = [1]\n", "", "[worker]\nname = 'a'\n"):
        assert named_files(broken, tmp_path) == ()
