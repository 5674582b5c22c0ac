"""The API as a server: on what the environment configures, in one process or several."""
