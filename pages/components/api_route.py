"""The API beside the UI, under `/v1`: the same workbench, the same store, one process.

Mounted, so that an unknown address under it is an error in JSON and not the app. Links to runs begin with
`CONDUCTOR_APP_URL` where that is set, else with the address by which the API was asked. Knows no Streamlit.
"""

from __future__ import annotations

import os

from starlette.routing import Mount

from conductor.api.app import PATH, api
from conductor.api.gate import TokenGate
from pages.components.services import workbench
from storage.serving import WorkbenchOrchestra

API = Mount(
    PATH,
    api(
        WorkbenchOrchestra(workbench),
        TokenGate(lambda: workbench().store),
        app_url=os.environ.get("CONDUCTOR_APP_URL") or None,
        beside_app=True,
    ),
)
