"""The regions of the compare page."""
