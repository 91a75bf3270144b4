"""What all of these tests share: 64 bits, which the stages have anyway, and hypothesis' profile."""

import os

import jax
import pytest
from hypothesis import HealthCheck, settings

import minijax

# For the processes that tests start, too: nothing here reads or writes the user's own cache.
os.environ["MINIJAX_ENABLE_COMPILATION_CACHE"] = "false"

# Tests on many devices are a session of their own, which says how many there are.
collect_ignore = [] if "MINIJAX_NUM_CPU_DEVICES" in os.environ else ["devices"]

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

# Modules and tests that compare with JAX as it is now: an older one has other numbers at edges and
# of slopes, and other errors.
OF_THE_NEWEST = {
    "test_exactness", "test_found", "test_fuzz",
    "test_exchanges_over_several_axes[('j', 'i')]",
    "test_only_one_triangle_counts_for_cholesky_and_its_derivative",
    "test_continuous_distributions[cauchy]",
    "test_gamma_functions_at_the_edges",
    "test_statistics_of_nothing",
}  # fmt: skip


# Modules, and a directory, that compare with JAX as its users have it: to the last bit, its
# settings, and what it says of compiled programs.
AS_FOR_USERS = {"devices", "test_random", "test_settings_of_jax", "test_ulps"}


@pytest.fixture(scope="module", autouse=True)
def _jax_compiles_fast(request):
    """JAX's results are those of the same operations if they compile in half of the time."""
    if "JAX_DISABLE_MOST_OPTIMIZATIONS" not in os.environ:
        fast = AS_FOR_USERS.isdisjoint({request.path.stem, request.path.parent.name})
        jax.config.update("jax_disable_most_optimizations", fast)


@pytest.fixture(scope="module", autouse=True)
def _programs_are_forgotten():
    """Each compiled program maps memory, and a process has 65,530 mappings at most."""
    yield
    jax.clear_caches()
    minijax.clear_caches()


def pytest_collection_modifyitems(config, items):
    if jax.__version_info__ < (0, 11):
        for item in items:
            if not OF_THE_NEWEST.isdisjoint({item.path.stem, item.originalname, item.name}):
                item.add_marker(pytest.mark.skip(reason="an older JAX is not what this follows"))
