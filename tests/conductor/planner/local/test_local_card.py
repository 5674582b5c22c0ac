from __future__ import annotations

from pathlib import Path

import pytest

from conductor.errors import FormatError
from conductor.planner.local.card import CARD, ConductorCard, Confidence, read_card

ORCHARD = ConductorCard(
    name="orchard",
    data="questions of the orchard",
    workers=("facts", "letters"),
    least=Confidence(question=-2.5, plan=-0.4),
    seed=3,
    licence="Apache-2.0",
)


def test_a_card_is_read_as_it_was_written(tmp_path: Path):
    (tmp_path / CARD).write_text(ORCHARD.model_dump_json(), encoding="utf-8")
    assert read_card(tmp_path) == ORCHARD


@pytest.mark.parametrize(
    ("content", "named"),
    [(None, "No such file"), ("{", "Invalid JSON"), ('{"format": "conductor-card-2"}', "format")],
)
def test_a_folder_without_a_card_that_can_be_read_is_refused(tmp_path: Path, content: str | None, named: str):
    if content is not None:
        (tmp_path / CARD).write_text(content, encoding="utf-8")
    with pytest.raises(FormatError, match=named):
        read_card(tmp_path)
