"""What tests do not see of the person who starts them: settings, keys, proxies, and how their terminal looks.

Knows names only. What tests set themselves, they set after that.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping

_OWN = re.compile(
    r"""
    CONDUCTOR_(?!TEST_).+                 # the program's own; CONDUCTOR_TEST_... name other environments
    | (STREAMLIT|UVICORN|OTEL|HYPOTHESIS|SCHEMATHESIS)_.+
    | (OPENAI|ANTHROPIC|AZURE|GOOGLE|AWS|LANGCHAIN|LANGSMITH)_.+
    | .+_(API_KEY|TOKEN|BASE_URL)         # of a service
    | (?i:https?|ftp|all|no)_(?i:proxy)
    | (SSL_CERT|REQUESTS_CA|CURL_CA)_.+   # whom a client believes
    | PG[A-Z]+                            # what PostgreSQL's clients read
    | PYTHON(HOME|PATH|OPTIMIZE|WARNINGS|INSPECT|UTF8|IOENCODING|SAFEPATH|STARTUP|DEVMODE|DEBUG|VERBOSE)
    | PYTHONDONTWRITEBYTECODE             # each process that a test starts would compile the whole program
    | XDG_.+_HOME | NETRC | WEB_CONCURRENCY | FORWARDED_ALLOW_IPS
    | COLUMNS | LINES | (NO|FORCE|PY)_?COLORS? | CLICOLOR(_FORCE)? | TTY_.+ | GITHUB_ACTIONS
    """,
    re.VERBOSE,
)


def forget(environment: MutableMapping[str, str]) -> None:
    """Take out every variable by which a caller's own settings could reach a test."""
    for name in [name for name in environment if _OWN.fullmatch(name)]:
        del environment[name]
