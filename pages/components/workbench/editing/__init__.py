"""The workbench while its workflow is edited, and two edits of one revision."""
