"""The prompt of a Conductor: its layouts, its examples, and the form that its answer must have."""
