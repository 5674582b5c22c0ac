"""A run of a session's current workflow, put together of what the store has and started there.

Knows which run comes before it and what its steps may see of the round before; who follows it is
conducting's.
"""

from __future__ import annotations

from collections.abc import Mapping

from conductor.engine.assignment import Assignment
from conductor.engine.extent import EDITED, Extent
from conductor.engine.meter import Meter
from conductor.engine.run import WorkflowRun
from conductor.errors import WorkflowError
from conductor.orchestrate import new_id, responses_of
from conductor.output import Output
from conductor.run_state import RunState
from storage.call import Call
from storage.records import Revision
from storage.store import SessionStore


def started_run(
    store: SessionStore,
    call: Call,
    meter: Meter,
    *,
    extent: Extent = EDITED,
    preloaded: Mapping[int, Output] | None = None,
) -> WorkflowRun:
    """The run of what the session of `call` has for its workflow now; no step of it has begun.

    Raises `WorkflowError` where the session has none.
    """
    session = call.session
    head = store.head(session)
    if head is None:
        raise WorkflowError("This session has no workflow yet; plan one first.")
    pool = call.ensemble.pool_for(meter)
    before = run_before(store, head)
    last = store.latest_run(session)
    asked = store.session(session)
    run = WorkflowRun(
        Assignment.of(
            head.workflow,
            query=asked.query,
            pool=pool,
            previous=responses_of(before),
            conversation=asked.said_before,
        ),
        pool,
        run=new_id(),
        outputs=store.outputs(session),
        extent=extent,
        preloaded=preloaded,
        parent=last.id if last else None,
        round=before.round + 1 if before else 1,
        meter=meter,
    )
    store.start_run(
        run=run.run,
        session=session,
        revision=head.id,
        parent=run.parent,
        pool_label=pool.label,
        round=run.round,
    )
    return run


def run_before(store: SessionStore, revision: Revision) -> RunState | None:
    """The run that a revision of a later round looks back on; None in a first round."""
    return None if revision.looks_back is None else store.run_state(revision.looks_back)
