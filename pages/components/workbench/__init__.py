"""The regions of the workbench page."""
