"""What all of these tests share: 64 bits, which the stages have anyway, and hypothesis' profile."""

import os

import jax
from hypothesis import HealthCheck, settings

import minijax

# For the processes that tests start, too: nothing here reads or writes the user's own cache.
os.environ["MINIJAX_ENABLE_COMPILATION_CACHE"] = "false"

jax.config.update("jax_enable_x64", True)
minijax.config.update("jax_enable_x64", True)

settings.register_profile(
    "crossing",
    deadline=None,  # the first run of an example compiles
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("crossing")
