"""An OpenAI endpoint on the loopback address: real HTTP, fixed answers, and faults on command.

`serving(FakeOpenAI(...))` runs one in a thread. A conftest that imports the names of
`fake_openai.fixtures` gives its tests one endpoint for the session.

A request chooses faults by its model's name: `fault:stall`, with a value `fault:stall=2`, several as
`fault:rate-limited+no-usage`. A model named `reasoning-...` sends reasoning before its answer.
"""

from .endpoint import FakeOpenAI
from .faults import FAULTS
from .server import Served, serving

__all__ = ["FAULTS", "FakeOpenAI", "Served", "serving"]
