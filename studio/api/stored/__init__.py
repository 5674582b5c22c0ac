"""What the API finds in the store: sessions, workflows, responses and calls, for one token; lists of them."""
