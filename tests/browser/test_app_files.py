"""Files are attached to a question in the composer; its steps see their text, and a bad one is refused."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from conductor.values.conversation import Conversation
from conductor.values.message_parts.images import Image
from conductor.workflow.model import Step, Workflow
from tests.browser.workbench_page import WorkbenchPage
from tests.support.cases.attached_files import pdf

pytestmark = pytest.mark.browser

REPORT = {"name": "report.pdf", "mimeType": "application/pdf", "buffer": pdf("The river has 6650 km.")}
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
DAMAGED = {"name": "damaged.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7 nothing"}


def attach(page, *files):
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Upload files").click()
    chosen.value.set_files(list(files))
    for file in files:
        expect(page.get_by_text(file["name"])).to_be_visible()


def test_a_pdf_is_attached_and_each_step_sees_its_text(visit, paced_app):
    page = visit(paced_app)
    desk = WorkbenchPage(page)
    attach(page, REPORT)
    desk.plan("How long is it?")
    desk.run()
    desk.finished()
    expect(page.get_by_text("1 file")).to_be_visible()
    desk.graph.click(0)
    page.get_by_role("tab", name="Saw").click()
    expect(page.get_by_text("The river has 6650 km.").first).to_be_visible()
    desk.drawer("Check")
    sees = page.get_by_role("checkbox", name="Step 1 may see the attached files")
    expect(sees).to_be_checked()
    sees.press(" ")
    expect(desk.graph.cards.first).to_contain_text("sees no file")
    expect(sees).not_to_be_checked()


def test_an_attached_image_is_shown_above_the_plan(visit, served_app):
    before = Conversation(images=(Image(url=f"data:image/png;base64,{DOT}"),))
    with served_app.store() as store:
        session = store.sessions.create("Which colour?", pool_label=None, conversation=before)
        store.revisions.add(
            session.id, Workflow.of([Step(instruction="Look.", worker="writer-8b")]), origin="human"
        )
    page = visit(served_app, f"/?session={session.id}")
    page.get_by_text("1 image").click()
    image = page.get_by_alt_text("Attached image")
    expect(image).to_be_visible()
    assert image.evaluate("image => image.naturalWidth") == 1


def test_a_file_that_cannot_be_read_is_refused_and_the_question_stays(visit, paced_app):
    page = visit(paced_app)
    desk = WorkbenchPage(page)
    attach(page, DAMAGED)
    desk.ask("How long is it?")
    expect(page.get_by_text("The file 'damaged.pdf' is not attached")).to_be_visible()
    expect(page.get_by_placeholder("Ask something that takes more than one step")).to_have_value(
        "How long is it?"
    )
