"""The demonstration: a small Conductor trained from nothing on the orchard, and what it has to beat."""
