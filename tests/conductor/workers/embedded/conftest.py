"""A file that stands for weights, and what serves it."""

from tests.support.cases.embedded_cases import embedded_file  # noqa: F401 - a fixture
