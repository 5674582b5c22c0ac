"""No setting of the person who starts the tests reaches them."""

from __future__ import annotations

import pytest

from conductor.workers.keys.services import HOSTED
from tests.support.processes.caller import forget


@pytest.mark.parametrize(
    "name",
    [
        *"CONDUCTOR_POOL CONDUCTOR_PASSWORD CONDUCTOR_NEW STREAMLIT_SERVER_PORT OTEL_SDK_DISABLED".split(),
        *"HTTP_PROXY https_proxy ALL_PROXY no_proxy OPENAI_BASE_URL VLLM_API_KEY HF_TOKEN".split(),
        *"SSL_CERT_FILE PYTHONDONTWRITEBYTECODE PYTHONPATH PYTHONOPTIMIZE PYTHONWARNINGS".split(),
        *"PGHOST PGPASSWORD XDG_CONFIG_HOME".split(),
        *"COLUMNS NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE PY_COLORS GITHUB_ACTIONS".split(),
        *(str(service.api_key_env) for service in HOSTED),
    ],
)
def test_what_is_the_callers_own_is_forgotten(name: str):
    environment = {name: "theirs", "PATH": "/bin"}
    forget(environment)
    assert environment == {"PATH": "/bin"}


@pytest.mark.parametrize(
    "name",
    [
        *"PATH HOME LANG LC_ALL TZ TERM TMPDIR USER CONDUCTOR_TEST_VLLM".split(),
        *"PYTEST_XDIST_WORKER PYTEST_CURRENT_TEST LD_LIBRARY_PATH PLAYWRIGHT_BROWSERS_PATH".split(),
    ],
)
def test_what_is_the_machines_stays(name: str):
    environment = {name: "there"}
    forget(environment)
    assert environment == {name: "there"}
