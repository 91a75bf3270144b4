"""Settings of the library's own tests: 64-bit numbers, fast compilation, no user cache."""

import os

# For the processes they start, too.
os.environ.setdefault("GLASSJAX_ENABLE_COMPILATION_CACHE", "false")

import pytest
from hypothesis import settings

import glassjax

settings.register_profile("library", deadline=None)  # another program may run beside
settings.load_profile("library")

glassjax.config.update("enable_x64", True)  # the laws are tried to many digits
if "GLASSJAX_DISABLE_MOST_OPTIMIZATIONS" not in os.environ:  # laws are about our programs
    glassjax.config.update("disable_most_optimizations", True)


@pytest.fixture(autouse=True)
def _as_documented(request):
    """What documents show is what a user sees, who has set nothing."""
    if request.module.__name__.endswith("test_documents"):
        with glassjax.enable_x64(False):
            yield
    else:
        yield
