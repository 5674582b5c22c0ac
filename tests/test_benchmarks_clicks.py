"""The benchmark of clicks measures every way to serve; how fast any is, is no test's business."""

from __future__ import annotations

import pytest

from benchmarks.balancer import NGINX
from benchmarks.clicks import CONTENDERS, Effort, as_text, measured
from tests.support.stores.postgres_server import serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed (apt-get install nginx)"),
]


def test_every_way_to_serve_is_measured_with_and_without_workflows() -> None:
    effort = Effort(pages=(2,), workflows=(0, 2), rounds=1, seconds=2, pause=1)
    with serving() as postgres:
        moments = measured(postgres.url(postgres.database()), effort, tokens_per_second=1000)
    assert [(each.workflows, each.contender) for each in moments] == [
        (workflows, name) for workflows in (0, 2) for name in CONTENDERS
    ]
    for each in moments:
        assert len(each.together) == 6
        assert all(seconds > 0 for seconds in (*each.clicks, *each.together, each.a_click, each.app))
        assert (each.ended > 0) == (each.workflows > 0)
        assert each.api > 0 or CONTENDERS[each.contender][1] == 1 or not each.workflows
    assert as_text(moments).count("\n") == 1 + len(moments)
