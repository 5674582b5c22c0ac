"""The Conductor's plan: as it is written, its candidates, and what Check finds."""
