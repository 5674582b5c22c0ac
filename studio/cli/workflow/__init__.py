"""The commands that plan, run, read and write workflows."""
