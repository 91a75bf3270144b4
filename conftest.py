"""Options of all tests: `--device`, `--changed`; and what a failing run says in the end.

By default tests run on the devices that compute by default. The stages have only the CPU. On a GPU
sums are taken in another order, so results are compared with wider tolerances: by dtype, as below.

`--changed` runs the test modules that reach what has changed since they passed:
tests/support/reached.py.
"""

import argparse
import functools
import importlib.util
import os
import shlex
import sys
from collections.abc import Iterable

import pytest
import reached

# The least tolerances of comparisons on a GPU, relative to the values and to the largest of them.
ON_GPU = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4}
ON_GPU_OTHERWISE = 2e-2  # of dtypes of 16 bits and less

# What is about the devices that a CPU is divided into, and about its processes.
OF_THE_CPU = (
    "tests/devices/",
    "tests/processes/",
    "packages/glassjax/tests/house/test_processes.py",
)

ENVIRONMENT = {
    "cpu": {"GLASSJAX_PLATFORMS": "cpu", "JAX_PLATFORMS": "cpu"},
    "gpu": {
        "GLASSJAX_PLATFORMS": "cuda,cpu",
        "JAX_PLATFORMS": "cuda,cpu",
        # Two libraries, and a worker on each core, share the memory.
        "GLASSJAX_PYTHON_CLIENT_PREALLOCATE": "false",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        # Otherwise products of 32-bit floats are those of 19 bits.
        "GLASSJAX_DEFAULT_MATMUL_PRECISION": "highest",
        "JAX_DEFAULT_MATMUL_PRECISION": "highest",
    },
}


# Each program is one unit for LLVM, which takes some time off the compilation of small programs.
# By night they are compiled in parts, as by default.
IN_ONE_PART = "--xla_cpu_parallel_codegen_split_count=1"


def pytest_addoption(parser):
    """Declare the option, and read it at once: the next conftest.py imports the libraries."""
    if os.environ.get("TESTS_SESSION") != "nightly":
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = (
            flags if IN_ONE_PART in flags else f"{IN_ONE_PART} {flags}".strip()
        )
    parser.addoption("--device", choices=list(ENVIRONMENT), help="what the library computes on")
    parser.addoption(
        "--changed", action="store_true", help="only what reaches changes since it last passed"
    )
    command = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    command.add_argument("--device")
    chosen, _ = command.parse_known_args(sys.argv[1:])
    os.environ.update(ENVIRONMENT.get(chosen.device, {}))  # and so have workers


def pytest_configure(config):
    _note_what_is_reached(config)
    device = config.getoption("--device")
    if device == "gpu" and importlib.util.find_spec("glassjax") is not None:
        _require_gpu()
        _widen_tolerances()


def _require_gpu():
    import glassjax

    try:
        glassjax.devices("gpu")
    except glassjax.errors.PlatformError as error:
        reason = str(error).partition("\n  at ")[0]
        pytest.exit(f"--device gpu: no test was run. {reason}", returncode=4)


def _widen_tolerances():
    """Compare by the tolerances above, or by those that a test gives if they are wider."""
    import numpy as np

    compare = np.testing.assert_allclose

    @functools.wraps(compare)
    def compare_on_gpu(actual, desired, rtol=1e-7, atol=0, **options):
        found, expected = np.asarray(actual), np.asarray(desired)
        if {found.dtype.kind, expected.dtype.kind}.isdisjoint("biuO"):
            least = max(ON_GPU.get(x.dtype.name, ON_GPU_OTHERWISE) for x in (found, expected))
            scale = np.max(np.abs(expected), where=np.isfinite(expected), initial=0)
            rtol, atol = max(rtol, least), max(atol, least * float(scale))
        compare(actual, desired, rtol=rtol, atol=atol, **options)

    np.testing.assert_allclose = compare_on_gpu


@pytest.hookimpl(tryfirst=True)  # before hypothesis reads the sources
def pytest_collection_modifyitems(config, items):
    if "hypothesis" in sys.modules and os.environ.get("TESTS_SESSION") != "nightly":
        _leave_constants_of_sources_out()
    if config.getoption("--device") != "gpu":
        return
    for item in items:
        if "cpu_only" in item.keywords or any(each in item.nodeid for each in OF_THE_CPU):
            item.add_marker(pytest.mark.skip(reason="about the CPU"))


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    """Make no items of the cases that `-m "not nightly"` would only leave out again."""
    if metafunc.config.getoption("markexpr") != "not nightly":
        return
    marks = metafunc.definition.own_markers
    is_nightly = any(mark.name == "nightly" for mark in marks)
    for i, mark in enumerate(marks):
        if mark.name == "parametrize":
            marks[i] = _by_day(mark, is_nightly)


def _by_day(mark, is_nightly):
    """The cases of the day; a single one of a test that as a whole is for the night."""
    names, cases, *others = mark.args
    cases, ids = list(cases), mark.kwargs.get("ids")
    kept = [i for i, case in enumerate(cases) if not _is_nightly(case)]
    kept = kept[:1] if is_nightly else kept
    if not kept:
        return mark
    of_kept = {"ids": [list(ids)[i] for i in kept]} if isinstance(ids, Iterable) else {}
    options = {**mark.kwargs, **of_kept}
    return pytest.mark.parametrize(names, [cases[i] for i in kept], *others, **options).mark


def _is_nightly(case):
    return any(mark.name == "nightly" for mark in getattr(case, "marks", ()))


def _leave_constants_of_sources_out():
    """Reading them from all of our packages takes seconds of each process."""
    from hypothesis.internal.conjecture import providers

    providers._get_local_constants = lambda: providers._local_constants


# `--changed`

NOTES = pytest.StashKey[reached.Reached]()
UNAFFECTED = pytest.StashKey[list[str]]()


def _note_what_is_reached(config):
    if sys.version_info < (3, 12):  # without sys.monitoring
        if config.getoption("--changed"):
            raise pytest.UsageError("--changed: Python 3.12 or newer is needed")
        return
    if not hasattr(config, "cache"):
        return
    chosen = config.getoption("keyword") or any("::" in arg for arg in config.args)
    worker = getattr(config, "workerinput", {})
    notes = reached.Reached(
        config.cache.mkdir("reached"), worker.get("workerid", "main"), bool(chosen)
    )
    config.stash[NOTES] = notes
    if config.getoption("--changed"):
        # Asked once: while some processes still collect, others take notes.
        config.stash[UNAFFECTED] = worker["unaffected"] if worker else notes.unaffected()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    node.workerinput["unaffected"] = node.config.stash.get(UNAFFECTED, [])


def pytest_ignore_collect(collection_path, config):
    place = reached.place_of(str(collection_path))
    return True if place in config.stash.get(UNAFFECTED, []) else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if NOTES in item.config.stash:
        item.config.stash[NOTES].enter(reached.place_of(str(item.path)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed and NOTES in item.config.stash:
        item.config.stash[NOTES].failed = True
    return report


def pytest_sessionfinish(session):
    if NOTES in session.config.stash:
        session.config.stash[NOTES].enter(None)


# What a failing run says in the end

MOST_REPEATED = 8  # tests that a command names


def pytest_unconfigure(config):
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    session = os.environ.get("TESTS_SESSION")
    if reporter is None or session is None or hasattr(config, "workerinput"):
        return
    reports = [*reporter.stats.get("failed", []), *reporter.stats.get("error", [])]
    failed = list(dict.fromkeys(report.nodeid for report in reports))
    if failed:
        named = failed if len(failed) <= MOST_REPEATED else ["--last-failed"]
        print(f"To repeat what failed: ./noxw -s {session} -- {shlex.join(named)}")
