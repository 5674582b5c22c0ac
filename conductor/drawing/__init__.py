"""Pictures of workflows: the places of cards and edges, and the pyvis network that shows them."""
