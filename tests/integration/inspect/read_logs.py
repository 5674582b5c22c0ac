"""Prints logs as JSON, read by Inspect's own reader; its Python runs it."""

from __future__ import annotations

import sys

from inspect_ai.log import read_eval_log

for path in sys.argv[1:]:
    print(read_eval_log(path).model_dump_json())
