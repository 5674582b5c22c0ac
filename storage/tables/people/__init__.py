"""Rows of people: corrections and ratings, wishes for changes, notes, tests of the team, shared links."""
