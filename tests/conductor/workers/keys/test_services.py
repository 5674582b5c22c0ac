"""A key that was pasted is recognised by how it begins, or the person is asked."""

from __future__ import annotations

import pytest

from conductor.workers.keys.services import HOSTED, service_of


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


def test_no_mark_begins_another_services_keys():
    marks = [mark for service in HOSTED for mark in service.marks]
    assert all(service_of(f"{mark}x").marks.count(mark) for mark in marks)
