"""The regions of the sessions page."""
