"""Access to the server: names and origins, the app's password, tokens and their limits."""
