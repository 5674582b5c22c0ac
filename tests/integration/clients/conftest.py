"""Collected where CONDUCTOR_TEST_CLIENTS names the Python with the clients, as `make test-clients` does."""

from __future__ import annotations

import os

collect_ignore_glob = [] if "CONDUCTOR_TEST_CLIENTS" in os.environ else ["test_*.py"]
