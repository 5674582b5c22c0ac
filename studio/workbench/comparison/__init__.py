"""Comparing: variants of a workflow, plans of one question, the revisions of a session."""
