"""Other processes on a Ray cluster: the only place with ray, which the extra `ray` brings.

No key and no password goes to the cluster: each machine reads them from its own environment and files.
"""
