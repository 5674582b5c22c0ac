"""Where a workflow's cards lie, and the pyvis network that shows them."""
