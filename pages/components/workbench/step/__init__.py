"""The selected step: what it does, what it was sent, what it answered."""
