"""What a request to the API contains, and what runs for it."""
