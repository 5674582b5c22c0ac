"""People log in by OpenID Connect: the settings, what the provider answers, and the way there and back."""
