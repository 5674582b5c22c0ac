"""The planner turns a query into a workflow: it calls a Conductor, reads its text, writes plans as text."""
