"""A page with nothing but graphs, for looking and for the browser tests; `graph_app.py` serves it.

Query parameters: `shape` (review, chain, fan-out, dense, mixed, hostile) and `n` steps, both once or
once for each graph, `direction`, `state` (planned, running, finished), `graphs` of one shape on the page,
`poll` seconds between updates, `selected` step at first, `locked` (1), `remarks` (1: cards with remarks and
with something inside), `room` pixels of height that a graph is to fill; of the first one, branches can be
collapsed.
"""

from __future__ import annotations

import random
import time
from contextlib import nullcontext

import streamlit as st

from conductor.drawing.branches import Branches
from conductor.drawing.layout import layouts, pane_layouts
from conductor.drawing.marks import marks
from conductor.drawing.network import CardContent, draw, title_of
from conductor.errors import WorkflowError
from conductor.text.excerpt import excerpt, last_line
from conductor.workflow.model import Step, Workflow
from pages.components.graph import load_library, workflow_graph
from pages.components.view_models.workflow.branch_cards import branch_contents, finished_branches
from pages.components.view_models.workflow.worker_legend import worker_legend

REVIEW = [
    ("Break the question into parts and say what each of them needs.", "planner-7b", ()),
    ("Collect the five most relevant facts on battery recycling, with sources.", "researcher-8b", (0,)),
    ("Estimate cost per kWh for each route, show the arithmetic.", "math-7b", (0,)),
    ("Write a Python script that reproduces the numbers of the cost model.", "coder-14b", (0, 2)),
    ("Check every number against the sources; list conflicts.", "critic-7b", (1, 2, 3)),
    ("Write a one-page answer with a table and caveats.", "writer-8b", (1, 4)),
]
HOSTILE = [
    '<img src=x onerror="document.title=1"> & <b>bold</b>',
    "line one\n\nline two\r\n\tthen a tab",
    "\u202bמרחבים של מילים בעברית\u202c وكلمات عربية كثيرة هنا",
    "x" * 100_000,
    "word " * 20_000,
    "\"quoted\" 'single' `code` ${1+1} </script>",
]
OUTPUTS = [
    "## Three parts\n\n1. **Routes**: hydrometallurgy, pyrometallurgy, direct recycling\n2. Cost per kWh",
    "| Route | $/kWh |\n|---|---|\n| Hydro | **41** |\n| Pyro | 58 |\n| Direct | 29 |",
    "לפי החישוב, העלות היא *41* דולר לכל קילוואט-שעה, ולכן המסלול הישיר זול יותר.",
    "```python\ncost = {'hydro': 41, 'pyro': 58}\nprint(min(cost, key=cost.get))\n```",
    "The direct route is cheapest at about $29 per kWh, yet nobody has shown it at **industrial scale**; the",
]
STATES = [
    "finished",
    "finished",
    "finished",
    "stale",
    "running",
    "waiting",
    "failed",
    "blocked",
    "empty",
    "cancelled",
]


def steps_of(shape: str, n: int) -> list[tuple[str, str, tuple[int, ...]]]:
    chance = random.Random(n)
    match shape:
        case "review":
            return REVIEW
        case "hostile":
            return [(text, f"<i>{text[:90]}</i>", (i - 1,) if i else ()) for i, text in enumerate(HOSTILE)]
        case "chain":
            access = [(i - 1,) if i else () for i in range(n)]
        case "fan-out":
            access = [()] * (n - 1) + [tuple(range(n - 1))]
        case "dense":
            access = [tuple(range(i)) for i in range(n)]
        case _:
            access = [
                tuple(chance.sample(range(max(0, i - 6), i), min(i, chance.choice([1, 1, 2, 2, 3]))))
                for i in range(n)
            ]
    return [(REVIEW[i % 6][0], REVIEW[i % 6][1], reads) for i, reads in enumerate(access)]


def content_of(step: int, workflow: Workflow, state: str) -> CardContent:
    title, _, body = title_of(workflow.steps[step].instruction)
    status = {"planned": "waiting", "finished": "finished"}.get(state, STATES[step % len(STATES)])
    note = {"finished": f"{1.9 + step / 10:.1f} s", "running": f"{int(time.time() * 20) % 1000} tok"}.get(
        status, ""
    )
    figures = (("2 retries",) if step % 4 == 1 else ()) + ("1,312 tok", "$0.0214")
    badges = ("offline",) if step % 3 == 2 else ()
    finished = st.query_params.get("remarks") == "1"
    remark = "cut off at the token limit" if finished and step % 3 == 2 else ""
    inside = "3 steps inside" if finished and step % 3 == 1 else ""
    text = OUTPUTS[step % len(OUTPUTS)]
    return CardContent(
        title,
        body,
        workflow.steps[step].worker,
        status,
        note,
        figures if status == "finished" else (),
        badges,
        excerpt={"finished": excerpt(text), "running": last_line(text)}.get(status, ""),
        streams=status == "running",
        gives=excerpt(text, 24) if status == "finished" else "",
        remark=remark,
        inside=inside,
        mark=marks(dict.fromkeys(workflow.workers()))[workflow.steps[step].worker],
    )


def edit() -> None:
    wish, workflow = st.session_state["graph0"].edit, st.session_state["workflow"]
    st.session_state.setdefault("wishes", []).append(wish)
    try:
        match wish:
            case {"op": "add_access", "from": read, "to": to}:
                workflow = workflow.with_access(to, (*workflow.steps[to].access, read))
            case {"op": "remove_access", "from": read, "to": to}:
                workflow = workflow.with_access(to, set(workflow.steps[to].access) - {read})
            case {"op": "add_step", "step": after}:
                at = None if after is None else after + 1
                workflow = workflow.add_step(Step(instruction="Say what to do.", worker="math-7b"), at)
            case {"op": "remove_step", "step": step}:
                workflow = workflow.remove_step(step)
    except WorkflowError as error:
        st.session_state["refused"] = str(error)
    st.session_state["workflow"] = workflow


def inside() -> None:
    wish = st.session_state["graph0"].inside
    st.session_state["opened"] = wish["step"] if wish["open"] else None


def collapse() -> None:
    st.session_state["collapsed"] = st.session_state["graph0"].collapse


query = st.query_params
st.set_page_config(layout="wide")
st.html("<style>.stMainBlockContainer{padding:1.5rem 2rem}</style>")
if "workflow" not in st.session_state:
    sizes = query.get_all("n") or ["6"]
    first, *others = (
        Workflow.of(
            Step(instruction=text, worker=worker, access=reads)
            for text, worker, reads in steps_of(shape, int(sizes[min(at, len(sizes) - 1)]))
        )
        for at, shape in enumerate(query.get_all("shape") or ["review"])
    )
    st.session_state["workflow"], st.session_state["others"] = first, others
load_library()


@st.fragment(run_every=float(query["poll"]) if "poll" in query else None)
def show() -> None:
    workflows = [st.session_state["workflow"]] * int(query.get("graphs", "1")) + st.session_state["others"]
    for i, workflow in enumerate(workflows):
        room = query.get("room")
        contents = [
            content_of(step, workflow, query.get("state", "planned")) for step in range(len(workflow))
        ]
        legend, finished = worker_legend(workflow, contents, None), finished_branches(workflow, contents)
        collapsed = st.session_state.get("collapsed", []) if i == 0 else []
        branches = Branches(workflow, frozenset(collapsed))
        contents = branch_contents(branches, contents, None, now=time.time())
        cards = branches.card_workflow
        pictures = (pane_layouts if room else layouts)(cards, direction=query.get("direction", "down"))
        with st.container(key="graph-room", height=int(room), border=False) if room else nullcontext():
            result = workflow_graph(
                draw(cards, contents, pictures),
                pictures,
                key=f"graph{i}",
                direction=query.get("direction", "down"),
                selected=int(query["selected"]) if "selected" in query else None,
                selection_revision=0,
                locked=query.get("locked") == "1",
                inspector="fields",
                legend=legend,
                collapses={"now": collapsed, "finished": finished},
                revision=f"{query}",
                on_collapse=collapse if i == 0 else lambda: None,
                opened=st.session_state.get("opened"),
                on_inside=inside,
                on_edit=edit if i == 0 else lambda: None,
            )
        st.text(f"graph {i} selected {result.selected and result.selected['step']}")
    st.text(f"wishes {st.session_state.get('wishes', [])}")
    st.text(f"opened {st.session_state.get('opened')}")
    st.text(f"refused {st.session_state.get('refused')}")
    with st.container(key="fields"):
        st.text_input("Worker")


show()
