"""The endpoints of the API, each file with what clients do with one kind of thing."""
