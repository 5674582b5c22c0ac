"""The endpoint of these tests."""

from .fixtures import fake_openai, fake_openai_session  # noqa: F401 - fixtures
