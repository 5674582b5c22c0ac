"""Better small models on the Pool page: a button downloads one and puts it into the pool file."""

from __future__ import annotations

import pytest

from conductor.workers.embedded import model_hub
from conductor.workers.embedded.model_hub import HUB_MODELS
from pages.components.tab import services
from tests.support.endpoints.fake_hub import CONTENT, FakeHub, serving_hub
from tests.support.runs.waiting import until

pytestmark = [pytest.mark.page, pytest.mark.slow]

POOL = '[[worker]]\nkind = "simulated"\nname = "alpha"\n'


def texts(page):
    return "\n".join(each.value for each in page.markdown).replace("\\", "")


@pytest.mark.parametrize(
    ("sent", "failure"), [(CONTENT, ""), (b"x" * len(CONTENT), "another SHA-256")], ids=["whole", "another"]
)
def test_a_model_is_downloaded_into_the_pool_file_or_the_reason_is_shown(
    app, tmp_path, monkeypatch, sent, failure
):
    file = tmp_path / "pool.toml"
    file.write_text(POOL, encoding="utf-8")
    monkeypatch.setenv("CONDUCTOR_POOL", str(file))
    monkeypatch.setattr(model_hub, "PAUSE_SECONDS", 0.0)
    model = HUB_MODELS[0]
    with serving_hub(FakeHub(model.file, sent=sent)) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        page = app("pool")
        assert model.about in texts(page)
        page.button(key=f"embed-{model.name}").click().run()
        downloads = services.services().downloads
        until(lambda: not downloads.busy)
    page.run()
    assert not page.exception
    assert failure in texts(page)
    assert ("embedded" in file.read_text(encoding="utf-8")) is (not failure)
    assert (f"embed-{model.name}" in {button.key for button in page.button}) is bool(failure)
