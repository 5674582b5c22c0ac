"""A browser of the app without its drawing: the websocket's messages, and presses on what they show."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks.open_page import PageSocket
from studio.access.password import Password
from tests.browser.browser_settings import PASSWORD
from tests.faults.trial.outcomes import PATIENCE


class AppClient(PageSocket):
    """One tab; `exceptions` are those that its page shows."""

    def __init__(self, url: str) -> None:
        # As one who has logged in; so many in a minute, from one address, would have to wait.
        super().__init__(url, {f"conductor-session-{httpx.URL(url).port}": Password(PASSWORD).open_session()})
        self.exceptions: list[str] = []
        self._elements: dict[str, Any] = {}
        self._new: dict[str, Any] = {}
        self._new_exceptions: list[str] = []

    async def open(self, session: str) -> None:
        """Load the page of a session, as a reload does."""
        self._session = session
        await self.connect(session)
        await self.look()

    @property
    def can_run(self) -> bool:
        """Whether Run can be pressed."""
        button = self._widget("run")
        return button is not None and not button.disabled

    @property
    def runs(self) -> bool:
        """Whether a run is under way."""
        return self._widget("stop") is not None

    @property
    def is_up_to_date(self) -> bool:
        """Whether the newest run has all outputs."""
        button = self._widget("run")
        return button is not None and button.disabled and button.label == "Rerun" and not self.runs

    def _widget(self, key: str) -> Any:
        """What the page shows under this key, or one that begins so and ends with a session and a step."""
        keys = {id.split("-", 2)[2]: element for id, element in self._elements.items()}
        return keys.get(key) or next(
            (keys[own] for own in keys if own.startswith(f"{key}-{self._session}")), None
        )

    async def look(self) -> None:
        """Have the whole page drawn."""
        await self._ask()

    async def press_run(self) -> None:
        """Run, or run again."""
        await self._ask(id=self._widget("run").id, trigger_value=True)

    async def select(self, step: int) -> bool:
        """Select a card of the graph; whether the fields of the step are shown then."""
        (graph,) = (
            element.id
            for element in self._elements.values()
            if getattr(element, "component_name", "").endswith("conductor_graph")
        )
        chosen = {"selected": {"step": step, "at": time.time() * 1000}}
        await self._ask(id=graph, json_value=json.dumps(chosen))
        return self._widget("instruction") is not None

    async def instruct(self, text: str) -> None:
        """Write the instruction of the selected step and leave the field."""
        await self._ask(id=self._widget("instruction").id, string_value=text)

    async def _ask(self, **state: Any) -> None:
        message = BackMsg()
        message.rerun_script.SetInParent()
        if state:
            message.rerun_script.widget_states.widgets.add(**state)
        await self.send(message)
        async with asyncio.timeout(PATIENCE):
            async for answer in self.messages():
                if self._is_last(answer):
                    return

    def _is_last(self, message: ForwardMsg) -> bool:
        """Take a message in; whether all is drawn."""
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._new, self._new_exceptions = {}, []
        elif kind == "delta":
            name = message.delta.new_element.WhichOneof("type")
            element: Any = getattr(message.delta.new_element, name) if name else None
            if name == "exception":
                self._new_exceptions.append(f"{element.type}: {element.message}")
            elif getattr(element, "id", ""):
                self._new[element.id] = element
        elif kind == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            whole = message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
            self._elements = self._new if whole else self._elements | self._new
            self.exceptions = self._new_exceptions if whole else self.exceptions + self._new_exceptions
            return True
        return False
