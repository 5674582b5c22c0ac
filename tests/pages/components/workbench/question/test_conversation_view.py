"""The conversation before a question is shown above its plan, and in what a step saw."""

from __future__ import annotations

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.values.conversation import NO_CONVERSATION, Conversation, Turn
from conductor.values.message_parts.attached_file import AttachedFile
from conductor.values.message_parts.images import Image
from conductor.values.provenance import measured
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow
from pages.components.widgets.request_legend import legend, stretches
from pages.components.workbench.question.conversation import messages

TALK = Conversation(
    instructions="Be brief.",
    turns=(
        Turn(role="user", text="Who was Ada?"),
        Turn(role="assistant", text=" "),
        Turn(role="system", text="In French."),
    ),
)


def test_messages_come_in_order_and_empty_ones_not_at_all():
    assert list(messages(TALK)) == [
        ("system", "Be brief."),
        ("user", "Who was Ada?"),
        ("system", "In French."),
    ]
    assert not list(messages(NO_CONVERSATION))


def test_a_request_names_instructions_and_conversation_as_sources_of_their_own():
    pool = Pool(workers=(SimulatedWorker(name="alpha"),))
    workflow = Workflow.of([Step(instruction="do it", worker="alpha")])
    bound = BoundWorkflow.of(workflow, query="When?", pool=pool, conversation=TALK)
    request = bound.request(0, {})
    shares = measured(request)
    assert [(entry.name, entry.mark) for entry in legend(shares, {})][:3] == [
        ("Instructions", "I"),
        ("Conversation", "C"),
        ("Query", "Q"),
    ]
    assert "".join(stretch.text for stretch in stretches(request, shares)) == request.messages[0].content


def test_the_page_reports_a_conversation_and_its_absence(app, bench, three):
    session = bench.ask("When?", conversation=TALK).id
    bench.editing.edit(session, three, note="By hand")
    heading = "Earlier conversation · 3 messages"
    assert heading in [box.label for box in app(session=session).expander]
    alone = bench.ask("Why?").id
    assert not app(session=alone).exception
    assert heading not in [box.label for box in app(session=alone).expander]


def test_what_is_attached_is_named_and_shown_where_it_is_opened(app, bench, three):
    attached = Conversation(
        files=(AttachedFile(name="notes.txt", text="Rivers."),),
        images=(Image(url="data:image/png;base64,iVBORw0KGgo="),),
    )
    session = bench.ask("When?", conversation=attached).id
    bench.editing.edit(session, three, note="By hand")
    assert "1 file · 1 image" in [box.label for box in app(session=session).expander]
