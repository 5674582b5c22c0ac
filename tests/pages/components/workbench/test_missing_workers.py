"""A session whose workers the pool does not have is given to workers that it has, in one edit."""

from __future__ import annotations

from pages.components.tab import services


def buttons(page):
    return {button.key for button in page.button}


def test_each_missing_worker_is_given_another_one_of_the_pool_in_one_edit(app, bench, session):
    page = app("workbench", session)
    pool = services.workbench().pool
    names = pool.names
    able = [name for name in names if pool.cards[name].kind != "offline"]
    assert set(able) < set(names)
    fields = {field.label: field for field in page.selectbox if field.label.startswith("In place of")}
    assert [(label, field.value) for label, field in fields.items()] == [
        ("In place of alpha", able[0]),
        ("In place of beta", able[-1]),
    ]
    fields["In place of beta"].select(names[0]).run()
    before = bench.store.revisions.head(session).id
    page.button(key="missing-workers-change").click().run()
    assert not page.exception
    head = bench.store.revisions.head(session)
    assert [step.worker for step in head.workflow.steps] == [names[0]] * 3
    assert head.note == f"Workers: alpha to {names[0]}, beta to {names[0]}"
    assert head.parent == before
    assert "missing-workers-use" not in buttons(page)
    assert not page.button(key="run").disabled


def test_one_press_gives_all_of_them_to_what_is_proposed(app, bench, session):
    page = app("workbench", session)
    pool = services.workbench().pool
    able = [name for name in pool.names if pool.cards[name].kind != "offline"]
    page.button(key="missing-workers-use").click().run()
    assert not page.exception
    workers = bench.store.revisions.head(session).workflow.workers()
    assert set(workers) == set(able[:2])
    assert "missing-workers-use" not in buttons(page)
