"""Settings every test shares."""

from hypothesis import settings

# How long an example takes depends on what else the machine does; a property holds or fails whatever the time. The same
# code is always shown the same examples; `pytest --hypothesis-profile=random` draws others.
settings.register_profile("cutwise", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("cutwise")
