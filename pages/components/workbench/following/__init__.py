"""A session while it moves: live text, when the page is drawn again, notifications."""
