"""The regions of the pool page."""
