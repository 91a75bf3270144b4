"""What all of these tests share: 64 bits, which the stages have anyway, and hypothesis' profile."""

import hashlib
import os

import jax
import pytest
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

# What compares the library with JAX name by name is more than every change can wait for: a share of
# these tests is drawn, and the nightly session runs all.
BY_FAMILY = {
    "test_arguments_of_transformations",
    "test_callbacks",
    "test_attention",
    "test_checkpoint",
    "test_collectives",
    "test_control_flow",
    "test_convolution",
    "test_custom_batching",
    "test_custom_derivatives",
    "test_differences",
    "test_einsum",
    "test_errors",
    "test_elementwise",
    "test_fft",
    "test_implicit",
    "test_incomplete_gamma",
    "test_image",
    "test_indexing",
    "test_inspection",
    "test_lax_pieces",
    "test_keys",
    "test_lax",
    "test_lax_indexing",
    "test_linalg",
    "test_manipulation",
    "test_meeting",
    "test_numpy_families",
    "test_optimizers",
    "test_promotion_table",
    "test_random",
    "test_reflections",
    "test_reductions",
    "test_sets",
    "test_scipy_linalg",
    "test_scipy_optimize",
    "test_scipy_signal",
    "test_scipy_sparse",
    "test_scipy_stats",
    "test_scans",
    "test_sorting",
    "test_special",
    "test_statistics",
    "test_stax",
    "test_ufuncs",
    "test_trees",
    "test_ulps",
}

# All combinations of transformations take longest: of them the share of the share is drawn.
COMBINATIONS = {"test_compositions"}


def pytest_addoption(parser):
    group = parser.getgroup("families", "how much of what compares the library with JAX is run")
    group.addoption("--share", type=float, default=0.25, help="the share of the tests that is run")
    group.addoption("--seed", type=int, default=0, help="which tests that are")


def pytest_report_header(config):
    return f"families: --share {config.option.share} --seed {config.option.seed}"


def drawn(seed, item):
    """A number from 0 to 1 that depends on the seed and the test alone, not on other tests."""
    digest = hashlib.sha256(f"{seed} {item.nodeid}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


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


def pytest_collection_modifyitems(config, items):
    if jax.__version_info__ < (0, 11):
        for item in items:
            if not OF_THE_NEWEST.isdisjoint({item.path.stem, item.originalname, item.name}):
                item.add_marker(pytest.mark.skip(reason="an older JAX is not what this follows"))
    share = config.option.share
    shares = {**dict.fromkeys(BY_FAMILY, share), **dict.fromkeys(COMBINATIONS, share**2)}
    left_out = [
        item
        for item in items
        if item.path.stem in shares and drawn(config.option.seed, item) >= shares[item.path.stem]
    ]
    if left_out:
        chosen = set(left_out)
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in chosen]
