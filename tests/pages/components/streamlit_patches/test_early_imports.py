"""What Streamlit imports on its first page is imported when the server starts."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys
import streamlit
assert "pandas" not in sys.modules and "pyarrow" not in sys.modules
from pages.components.streamlit_patches.early_imports import import_early
import_early()
assert "pandas" in sys.modules and "pyarrow" in sys.modules
"""


@pytest.mark.slow
def test_streamlit_alone_imports_pandas_and_pyarrow_later():
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, timeout=60)
