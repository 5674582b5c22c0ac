"""Actions on an evaluation: export its table, and delete it with the sessions of its answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Literal
from uuid import uuid4

import streamlit as st

from conductor.evaluation.report.exports import as_csv, as_latex
from conductor.text.formatting import quantity
from pages.components.evaluation.listing import open_evaluation
from pages.components.tab.download import Download, download
from pages.components.tab.state import plain
from pages.components.widgets.controls import action
from pages.components.widgets.dialog import Dialog
from pages.components.widgets.labels import distinct_labels
from storage import SessionStore
from storage.records import EvaluationRecord
from studio.evaluation.results import page_of_evaluation, table_of_evaluation, table_shape

Form = Literal["html", "csv", "json", "latex"]

_FORMS: Mapping[Form, tuple[str, str, str]] = {
    "html": (":material/html: Page", "html", "text/html"),
    "csv": (":material/table: CSV", "csv", "text/csv"),
    "json": (":material/data_object: JSON", "json", "application/json"),
    "latex": (":material/function: LaTeX", "tex", "application/x-tex"),
}
"""How each is called, the ending of its file, and its type."""

_DELETION = Dialog[str]("evaluation-delete-asked")
_FILE = "evaluation-file"


def evaluation_actions(store: SessionStore, record: EvaluationRecord, *, under_way: bool) -> None:
    key = "evaluation-export"

    def export() -> None:
        st.session_state[_FILE] = _exported(store, record, st.session_state[key])

    st.menu_button(
        "Export", list(_FORMS), key=key, icon=":material/download:", help="Download the results",
        format_func=distinct_labels({form: each[0] for form, each in _FORMS.items()}), on_click=export,
    )  # fmt: skip
    help = "Stop it first" if under_way else "Also deletes the sessions of its answers"
    action(
        "Delete", "delete", _DELETION.open, record.id, key="evaluation-delete", help=help, disabled=under_way
    )


def download_export() -> None:
    """Give out the file that was exported last."""
    file = st.session_state.get(_FILE)
    if file is not None:
        download(file)


def _exported(store: SessionStore, record: EvaluationRecord, form: Form) -> Download:
    table = table_of_evaluation(store, record)
    texts: Mapping[Form, str] = {
        "html": page_of_evaluation(store, record, table),
        "csv": as_csv(table),
        "json": json.dumps(table_shape(record, table), indent=1),
        "latex": as_latex(table),
    }
    _, ending, mime = _FORMS[form]
    name = re.sub(r"[^\w]+", "-", record.spec.data, flags=re.ASCII).strip("-").lower()[:40] or "evaluation"
    return Download(id=uuid4().hex, name=f"{name}-{record.id[:6]}.{ending}", mime=mime, text=texts[form])


# -- deletion --------------------------------------------------------------------------------------


def deletion_dialog(store: SessionStore, record: EvaluationRecord, *, sessions: int) -> None:
    """Draw the dialog where it was asked for."""

    def delete() -> None:
        store.evaluations.delete(record.id)
        _DELETION.close()
        open_evaluation(None)

    def draw(_evaluation: str) -> None:
        st.markdown(
            f"This removes the results of **{plain(record.spec.data, limit=110)}** for good. Its "
            f"{quantity(sessions, 'session')} move to the deleted sessions, where you can restore them."
        )
        _DELETION.buttons("Delete the evaluation", "delete_forever", delete, key="evaluation-delete-now")

    if _DELETION.content == record.id:
        _DELETION.show("Delete this evaluation", draw)
