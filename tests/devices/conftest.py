"""How programs on eight devices are compiled."""

import os

import jax
import pytest

import minijax

# Plans are made by another process, which compiles as users do.
AS_FOR_USERS = {"test_plan"}


@pytest.fixture(scope="module", autouse=True)
def _programs_compile_fast(request):
    """How a program is divided does not depend on what is optimized later."""
    fast = request.path.stem not in AS_FOR_USERS
    if "JAX_DISABLE_MOST_OPTIMIZATIONS" not in os.environ:
        jax.config.update("jax_disable_most_optimizations", fast)
    if "MINIJAX_DISABLE_MOST_OPTIMIZATIONS" not in os.environ:
        minijax.config.update("disable_most_optimizations", fast)
