"""The workflow as a value: its steps, its file, its fingerprints, and how two of them differ or merge."""
