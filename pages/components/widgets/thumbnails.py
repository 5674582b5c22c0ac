"""Pictures of workflows on buttons, by the buttons' keys. An ornament: the button's label names it."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from conductor.drawing.thumbnail import thumbnail
from conductor.workflow.model import Workflow


def thumbnails(workflows: Mapping[str, Workflow]) -> None:
    """Put the picture of each workflow on the button of its key; page.css has its place and size."""
    rules = (
        f'.st-key-{key} button {{ --picture: url("{thumbnail(workflow)}"); }}'
        for key, workflow in workflows.items()
    )
    st.html(f"<style>{''.join(rules)}</style>")
