"""What all of these tests share: 64 bits, which the stages have anyway, and hypothesis' profile."""

import os

import jax
import pytest
from hypothesis import HealthCheck, settings
from jax.experimental.compilation_cache import compilation_cache
from tables import IS_OLDER, is_lack_of_jax

import minijax

# For the processes that tests start, too: the user's own cache is left alone. The sessions of
# noxfile.py have one of their own.
os.environ.setdefault("MINIJAX_ENABLE_COMPILATION_CACHE", "false")

# Tests on many devices are a session of their own, which says how many there are.
collect_ignore = [] if "MINIJAX_NUM_CPU_DEVICES" in os.environ else ["devices"]

jax.config.update("jax_enable_x64", True)
minijax.config.update("jax_enable_x64", True)

settings.register_profile(
    "against-jax",
    deadline=None,  # the first run of an example compiles
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("against-jax")

# Modules, functions and cases that compare with JAX as it is now: an older one has other numbers at
# edges and of slopes, other texts and parameters, and other errors.
OF_THE_NEWEST = {
    "test_exactness", "test_found", "test_fuzz", "test_printed_jaxprs", "test_signatures",
    "test_modules_offer_public_names_alone", "test_compute_on", "test_compute_on_refuses",
    "test_exchanges_over_several_axes[('j', 'i')]",
    "test_only_one_triangle_counts_for_cholesky_and_its_derivative",
    "test_what_is_solved_by_factors_has_derivatives",
    "test_values_and_derivatives[vector_norm -inf]",
    "test_continuous_distributions[cauchy]",
    "test_gamma_functions_at_the_edges",
    "test_values_are_jaxs[igammac-float32]",
    "test_statistics_of_nothing",
    "test_approximate_methods", "test_known_starts_give_what_jax_gives",
    "test_products_of_quantized_blocks", "test_the_state_is_shown",
    "test_callables_take_parameters_of_jaxs_names", "test_every_setting_of_jax_can_be_named",
    "test_a_bound_primitive_is_one_equation[coo_matvec, transposed]",
    "test_a_bound_primitive_is_one_equation[csr_matmat]",
    "test_disabled_checks_of_exports", "test_abstract_devices",
    "test_residuals_that_are_arguments", "test_saved_residuals_are_those_of_jax",
}  # fmt: skip
# What these import of JAX it had not yet.
collect_ignore += ["test_partition_specs.py", "test_program_order.py"] if IS_OLDER else []


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Where JAX lacks what a test compares with, there is nothing to compare."""
    try:
        return (yield)
    except Exception as error:
        if is_lack_of_jax(error):
            pytest.skip(f"JAX {jax.__version__}: {error!r}")
        raise


# Modules, and a directory, that compare what users of both libraries have: results to the last
# bit, settings, and what is said of compiled programs.
AS_FOR_USERS = {"test_settings_of_jax", "test_ulps"}


@pytest.fixture(scope="module", autouse=True)
def _programs_compile_fast(request):
    """By day: results are those of the same operations, compiled in less time."""
    fast = AS_FOR_USERS.isdisjoint({request.path.stem, request.path.parent.name})
    if "JAX_DISABLE_MOST_OPTIMIZATIONS" not in os.environ:
        jax.config.update("jax_disable_most_optimizations", fast)
    if "MINIJAX_DISABLE_MOST_OPTIMIZATIONS" not in os.environ:
        minijax.config.update("disable_most_optimizations", fast)


# Modules about what a compilation does, which the folder of kept programs would spare.
WITHOUT_KEPT_PROGRAMS = {"test_experimental", "test_mlir", "test_monitoring"}


@pytest.fixture(scope="module", autouse=True)
def _programs_are_compiled(request):
    if request.path.stem not in WITHOUT_KEPT_PROGRAMS:
        yield
        return
    before = jax.config.jax_enable_compilation_cache
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()  # in which JAX remembers whether it uses one
    with minijax.config.override(enable_compilation_cache=False):
        yield
    jax.config.update("jax_enable_compilation_cache", before)
    compilation_cache.reset_cache()


@pytest.fixture(scope="module", autouse=True)
def _programs_are_forgotten():
    """Each compiled program maps memory, and a process has 65,530 mappings at most."""
    yield
    jax.clear_caches()
    minijax.clear_caches()


def pytest_collection_modifyitems(config, items):
    if IS_OLDER:
        for item in items:
            if not OF_THE_NEWEST.isdisjoint({item.path.stem, item.originalname, item.name}):
                item.add_marker(pytest.mark.skip(reason="an older JAX is not what this follows"))
