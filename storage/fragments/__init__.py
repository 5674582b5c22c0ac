"""Texts that several rows of a session show, each stored once; rows refer to them by digest.

An event holds the request that a worker was sent, and so the outputs of earlier steps; an output stands under
its fingerprint and in its event; a pin stands in every revision. In stored JSON, references take the place of
such texts, and a reading gives each value back as it was. The digest is of the text, it is not the step's
fingerprint: an output may be replaced under its fingerprint, and a request stays as it was sent.
"""

from storage.fragments.reading import ANY, Reachable, Reached, reachable, read
from storage.fragments.writing import Fragments

__all__ = ["ANY", "Fragments", "Reachable", "Reached", "reachable", "read"]
