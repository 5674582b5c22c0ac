"""What a server said last is readable, holds the reason, and never the key."""

from __future__ import annotations

import pytest
from fake_vllm_server import FAILURE

from conductor.vllm.log import Log


@pytest.mark.parametrize(
    ("raw", "latest"),
    [
        ("(APIServer pid=7) INFO 11-21 13:30:24 [model.py:733] Resolved: Qwen2\n", "Resolved: Qwen2"),
        ("WARNING 11-21 13:30:24 [vllm.py:17] Enforce eager set\r\n", "Enforce eager set"),
        ("\x1b[1;36m(EngineCore pid=9)\x1b[0;0m INFO 11-21 13:30:24 [core.py:1] Go \x07\n", "Go"),
        (
            "model-1.safetensors:  12%|#   | 1/8 [00:02<00:14]\n",
            "model-1.safetensors:  12%|#   | 1/8 [00:02<00:14]",
        ),
        ("  warnings.warn('a library grumbles')\n", ""),
        ("\n", ""),
    ],
)
def test_progress_is_what_was_logged_last_without_its_prefix(raw: str, latest: str) -> None:
    log = Log()
    log.hear(raw)
    assert log.latest == latest


def test_the_last_lines_give_reasons_and_leave_out_where_in_the_code() -> None:
    log = Log()
    for line in FAILURE.splitlines():
        log.hear(line)
    assert log.last_lines.splitlines() == [
        "EngineCore failed to start.",
        "ValueError: 99 GiB are needed, 80 GiB are there.",
        "RuntimeError: Engine core initialization failed. See root cause above.",
    ]


def test_what_follows_a_reason_is_kept_though_it_is_indented() -> None:
    log = Log()
    for line in ("Traceback (most recent call last):", "  File x", "ValidationError: 1 error", "  too long"):
        log.hear(line)
    assert log.last_lines == "ValidationError: 1 error\n  too long"


def test_of_many_lines_the_last_are_kept_and_none_twice() -> None:
    log = Log()
    for number in range(100):
        log.hear(f"line {number}")
        log.hear("again and again")
    lines = log.last_lines.splitlines()
    assert len(lines) == 15
    assert sorted(set(lines)) == sorted(lines)
    assert {"line 98", "line 99", "again and again"} < set(lines)


def test_the_key_is_written_as_stars_and_controls_are_left_out() -> None:
    log = Log(secret="sk-marked")
    shown = log.hear("INFO 11-21 13:30:24 [a.py:1] key=sk-marked\x1b]0;title\x07 \x9b2J\n")
    assert "sk-marked" not in shown + log.latest + log.last_lines
    assert "key=***" in log.latest
    assert not {"\x1b", "\x07", "\x9b"} & set(shown + log.latest)
