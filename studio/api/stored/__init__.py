"""Reads for one token what the API has stored: sessions, workflows, responses and calls; lists of them."""
