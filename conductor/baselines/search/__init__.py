"""Workflows as programs that a search edits: its moves, its instructions, its archive and its generations."""
