"""A page with nothing but rendered texts, for looking and for the browser tests; `rendered_app.py` serves it.

The query parameter `text` names what is shown: "long", "large", "hostile", "grows", or a text of `LASTS`.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.components.widgets.rendered_text import rendered_text
from pages.components.widgets.text_block import Stretch, text_block
from tests.support.cases.hostile_markdown import LASTS, RUNS
from tests.support.cases.large_texts import LARGE

LONG = Path(__file__).with_name("long_answer.md").read_text(encoding="utf-8")

st.set_page_config(layout="wide")
which = st.query_params.get("text", "long")


@st.fragment(run_every=0.1)
def grows() -> None:
    written = st.session_state["written"] = st.session_state.get("written", 0) + 400
    live = written < len(LONG)
    rendered_text(LONG[:written], key="grows", label="Answer", live=live, height=400, steady=True)


if which == "long":
    rendered_text(LONG, key="long", label="Answer", notes=["offline"])
    rendered_text("391", key="short", label="Output")
elif which == "large":
    for name, text in LARGE.items():
        rendered_text(text, key=name, label=name)
        sent = [Stretch("The query", "query", source=0), Stretch(text, "task", source=1)]
        text_block(sent, key=f"block-{name}", label=f"{name} as sent")
elif which == "hostile":
    for name, text in RUNS.items():
        rendered_text(text, key=name.replace("'", ""), label=name)
elif which == "grows":
    grows()
else:
    rendered_text(LASTS[which], key="lasts", label=which, height=300)
    st.button("Still here", on_click=lambda: st.session_state.update(pressed=True))
    if "pressed" in st.session_state:
        st.write("It answers.")
