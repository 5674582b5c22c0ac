"""The regions of the learning page."""
