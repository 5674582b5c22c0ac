"""From a query to a workflow: ask a Conductor, read what it writes, write plans as text."""
