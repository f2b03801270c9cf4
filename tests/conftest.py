"""Settings every test shares."""

from hypothesis import settings

# How long an example takes depends on what else the machine does; a property holds or fails whatever the time.
settings.register_profile("cutwise", deadline=None)
settings.load_profile("cutwise")
