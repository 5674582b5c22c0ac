"""The workflow graph as a Streamlit component: a pyvis network in, selections and wished edits out.

Knows Streamlit and the files beside it; knows no workflow and no run. The page's JavaScript runs with the
page's own rights, so data reaches it as JSON and ends on a canvas or in text nodes only. vis-network comes
from pyvis's own wheel; nothing is asked of the network.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from pyvis.network import Network

from conductor.drawing.layout import Direction, Layout
from conductor.workflow.model import MAX_STEPS
from pages.components.streamlit_patches.component import component
from pages.components.view_models.workflow.heat import HeatMap
from pages.components.view_models.workflow.worker_legend import WorkerShare

_VIS = "templates/lib/vis-9.1.2/vis-network.min.js"
_PICTURE = ("direction", "kind", "width", "height", "most_height", "least_height")
"""What the browser gets of each layout beside its cards, its routes and when it is shown."""


# Without vis's hint to a source map that it does not carry.
_loader = component(
    "conductor_graph_library",
    __file__,
    js="graph.js",
    library=files("pyvis").joinpath(_VIS).read_text(encoding="utf-8").partition("//# sourceMappingURL")[0],
    isolated=False,
)
_graph = component("conductor_graph", __file__, html="graph.html", css="graph.css", js="mount.js")


def load_library() -> None:
    """Bring the library onto the page: once a page, outside fragments, however many graphs it shows.

    Half a megabyte that never changes: sent once a browser session, then by its hash.
    """
    _loader(key="conductor-graph-library", height=1)


def workflow_graph(
    network: Network,
    layouts: Sequence[Layout],
    *,
    key: str,
    direction: Direction,
    selected: int | None,
    selection_revision: int,
    locked: bool,
    inspector: str,
    legend: Sequence[WorkerShare] = (),
    heats: Sequence[HeatMap] = (),
    editable: bool = True,
    large: bool = False,
    grows: bool = False,
    proposal: Mapping[str, Any] | None = None,
    collapses: Mapping[str, Sequence[int]] | None = None,
    knows_selection: bool = True,
    least_widths: Sequence[int] | None = None,
    opened: int | None = None,
    reveal: str | None = None,
    revision: str | None = None,
    on_select: Callable[[], None] = lambda: None,
    on_edit: Callable[[], None] = lambda: None,
    on_inside: Callable[[], None] = lambda: None,
    on_collapse: Callable[[], None] = lambda: None,
    on_decide: Callable[[], None] = lambda: None,
    on_turn: Callable[[], None] | None = None,
) -> Any:
    """Show `network`, which `conductor.drawing.network.draw` made of `layouts`.

    Steps, here and in what comes back, are 0-based positions in the workflow, those that the cards stand for.
    The browser shows the first layout for which it has the width, as high as that one needs; where it runs
    in another direction than `direction`, a note states it. `least_widths` are the pixels from which on each
    layout is shown, where that is not when it can be read. `selected` counts only when `selection_revision`
    has changed: the browser selects at once and reports it, and an answer that is under way must not undo a
    newer click. Where it is not `knows_selection`, what the browser has selected stays, and it is reported
    once more. `locked` disables all editing while work is under way; what is not `editable` is never
    edited. `large` is for an audience: letters as large as there is room for. One that `grows`
    is not whole yet. `legend` is shown below; a press on one of its workers dims the cards of the others.
    `heats` are maps, one of them at a time drawn onto it.
    A `proposal`, {"change", "wish", "parts"}, makes the network a change that can be taken or left; its parts
    are as in `view_models.workflow.ghost.Part`, of these cards.
    `collapses`, {"now", "finished"}, are the last steps of the branches that are one card now, and of those
    that can be collapsed at once; None: nothing can be.
    The result, also under `st.session_state[key]`, has

    - `selected`: {"step", "at"}, the selected step or None and when it was selected (state; then
      `on_select`);
    - `edit`: {"op": "add_access" | "remove_access", "from", "to"}, {"op": "remove_step", "step"},
      {"op": "gate", "step", "gate"} - whether a run is to wait before that step - or
      {"op": "add_step", "step"} - after that step, at the end when None (trigger; then `on_edit`). It is
      untrusted: check it with the workflow's own edits. Its "revision" is the
      `revision` shown when it was made;
    - `inside`: {"step", "open"}, the workflow inside that step is to be shown or no longer (trigger; then
      `on_inside`). `opened` is the step whose inside is shown;
    - `collapse`: the last steps of all branches that are to be one card each (trigger; then `on_collapse`).
      It is untrusted, too;
    - `decide`: {"change", "take", "rows"}, that proposal is to be taken, with these cards alone where `rows`
      is not None, or to be left (trigger; then `on_decide`). It is untrusted, too;
    - `turn`: the direction to draw it in from now on (trigger; then `on_turn`; None: none is offered).

    The page scrolls to a graph with a `reveal` that it has not seen before.
    `inspector` is the key of the container whose first field gets the focus when Enter is pressed.
    """
    nodes, edges, *_ = network.get_network_data()
    widths = [layout.least_width for layout in layouts] if least_widths is None else least_widths
    # Tuples: Streamlit takes its time to find out that a list is no table.
    data = {
        "nodes": tuple({name: node[name] for name in ("id", "places", "content")} for node in nodes),
        "edges": tuple(
            {name: edge[name] for name in ("id", "from", "to", "routes", "change")} for edge in edges
        ),
        "pictures": tuple(
            {name: getattr(layout, name) for name in _PICTURE} | {"least_width": width}
            for layout, width in zip(layouts, widths, strict=True)
        ),
        "direction": direction,
        "selected": selected,
        "selection_revision": selection_revision,
        "knows_selection": knows_selection,
        "locked": locked,
        "editable": editable,
        "large": large,
        "grows": grows,
        "proposal": proposal,
        "collapses": collapses,
        "inspector": inspector,
        "workers": tuple(map(asdict, legend)),
        "heats": tuple(map(asdict, heats)),
        "most_steps": MAX_STEPS,
        "opened": opened,
        "turns": on_turn is not None,
        "reveal": reveal,
        "revision": revision,
    }
    # A component's state exists for Python only where a callback is named.
    return _graph(
        key=key,
        data=data,
        on_selected_change=on_select,
        on_edit_change=on_edit,
        on_inside_change=on_inside,
        on_collapse_change=on_collapse,
        on_decide_change=on_decide,
        on_turn_change=on_turn or (lambda: None),
    )
