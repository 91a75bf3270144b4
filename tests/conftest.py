"""Fixtures of the tests beside JAX: 64-bit numbers, fast compilation, both libraries."""

import os

import jax
import pytest
from hypothesis import HealthCheck, settings
from jax.experimental.compilation_cache import compilation_cache
from tables import IS_OLDER, is_lack_of_jax

import glassjax

# For the processes that tests start, too: the user's own cache is left alone. The sessions of
# noxfile.py have one of their own.
os.environ.setdefault("GLASSJAX_ENABLE_COMPILATION_CACHE", "false")

# Tests on many devices are a session of their own, which says how many there are.
collect_ignore = [] if "GLASSJAX_NUM_CPU_DEVICES" in os.environ else ["devices"]

jax.config.update("jax_enable_x64", True)
glassjax.config.update("jax_enable_x64", True)

settings.register_profile(
    "against-jax",
    deadline=None,  # the first run of an example compiles
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("against-jax")

# What these import of JAX it had not yet.
if IS_OLDER:
    collect_ignore += ["sharding/test_partition_spec.py", "experimental/test_overlap.py"]


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Where JAX lacks what a test compares with, there is nothing to compare."""
    try:
        return (yield)
    except Exception as error:
        if is_lack_of_jax(error):
            pytest.skip(f"JAX {jax.__version__}: {error!r}")
        raise


@pytest.fixture(params=[jax, glassjax], ids=["jax", "glassjax"])
def lib(request):
    """Each of the libraries, in turn: a test of it holds for both."""
    return request.param


@pytest.fixture(autouse=True)
def _bits(request):
    """Numbers of 64 bits, or of 32 where a mark says so."""
    if request.node.get_closest_marker("bits") is None:
        yield
        return
    with jax.enable_x64(False), glassjax.enable_x64(False):
        yield


@pytest.fixture(scope="module", autouse=True)
def _programs_compile_fast(request):
    """By day: results are those of the same operations, compiled in less time."""
    fast = request.node.get_closest_marker("as_for_users") is None
    if "JAX_DISABLE_MOST_OPTIMIZATIONS" not in os.environ:
        jax.config.update("jax_disable_most_optimizations", fast)
    if "GLASSJAX_DISABLE_MOST_OPTIMIZATIONS" not in os.environ:
        glassjax.config.update("disable_most_optimizations", fast)


@pytest.fixture(scope="module", autouse=True)
def _programs_are_compiled(request):
    if request.node.get_closest_marker("compiled_anew") is None:
        yield
        return
    before = jax.config.jax_enable_compilation_cache
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()  # in which JAX remembers whether it uses one
    with glassjax.config.override(enable_compilation_cache=False):
        yield
    jax.config.update("jax_enable_compilation_cache", before)
    compilation_cache.reset_cache()


@pytest.fixture(scope="module", autouse=True)
def _programs_are_forgotten():
    """Each compiled program maps memory, and a process has 65,530 mappings at most."""
    yield
    jax.clear_caches()
    glassjax.clear_caches()


def pytest_collection_modifyitems(config, items):
    for item in items if IS_OLDER else []:
        mark = item.get_closest_marker("newest_jax")
        if mark and (not mark.args or item.callspec.id in mark.args):
            item.add_marker(pytest.mark.skip(reason="an older JAX is not what this follows"))
