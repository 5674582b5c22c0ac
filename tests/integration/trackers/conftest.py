"""Collected where CONDUCTOR_TEST_TRACKERS is set, as `make test-trackers` does in its environment."""

from __future__ import annotations

import os

collect_ignore_glob = [] if "CONDUCTOR_TEST_TRACKERS" in os.environ else ["test_*.py"]
