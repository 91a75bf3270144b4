"""The functions of the library take JAX's arguments: by the same names, in the same order.

What is not there yet is listed below; the list can only become shorter.
"""

import inspect

import jax
import jax.experimental.multihost_utils
import jax.flatten_util
import jax.image
import jax.scipy.fft
import jax.scipy.integrate
import jax.scipy.ndimage
import jax.scipy.optimize
import jax.scipy.signal
import jax.scipy.sparse.linalg
import jax.scipy.special
import jax.scipy.stats
import jax.test_util
from tables import for_each

import minijax
import minijax.experimental.multihost_utils

MODULES = [
    "",
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "lax",
    "lax.linalg",
    "scipy.linalg",
    "debug",
    "distributed",
    "experimental.multihost_utils",
    "scipy.fft",
    "scipy.integrate",
    "scipy.ndimage",
    "scipy.signal",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "scipy.special",
    "scipy.stats",
    "image",
    "nn",
    "flatten_util",
    "test_util",
    "nn.initializers",
    "random",
    "tree",
    "tree_util",
]
MODULES += [
    f"scipy.stats.{name}"
    for name in minijax.scipy.stats.__all__
    if inspect.ismodule(getattr(minijax.scipy.stats, name))
]

# Parameters of JAX's functions that ours do not take yet, by the functions that lack them.
NOT_YET = {
    "slice_index": "distributed.initialize",
    "partition_index": "distributed.initialize",
    "concrete": "checkpoint remat",
}
# Parameters that the oldest JAX we are tested with does not have yet, by the functions that do.
NEWER = {
    "out_sharding": """numpy.full numpy.full_like numpy.bincount numpy.histogram numpy.percentile
        lax.reduce lax.reduce_max lax.reduce_min nn.one_hot random.generalized_normal
        random.geometric random.maxwell random.triangular""",
    "accuracy": """lax.cbrt lax.cos lax.erfc lax.exp lax.exp2 lax.expm1 lax.log lax.log1p
        lax.logistic lax.rsqrt lax.sin lax.sqrt lax.tan lax.tanh""",
    "out_dtype": "lax.mul",
    "batch_size": "numpy.lexsort",
    "to": "lax.all_gather",
    "mtls_cert_file": "distributed.initialize",
    "mtls_key_file": "distributed.initialize",
    "mtls_ca_file": "distributed.initialize",
    "mtls_peer_uri_prefix": "distributed.initialize",
    "verify_secure_credentials": "distributed.initialize",
    "wrap_negative_indices": "numpy.take_along_axis",
    "is_stable": "lax.top_k",
    "method": "random.beta random.chisquare random.gamma random.loggamma random.poisson",
    "static_argnames": "checkpoint remat",
}
# Parameters that the oldest JAX we are tested with calls by another name.
RENAMED = {("axis_shapes", "make_mesh"): "axis_sizes"}
# Context managers that set an option; JAX has one signature for all of them.
OF_SETTINGS = {
    "check_tracer_leaks",
    "debug_infs",
    "debug_nans",
    "default_device",
    "default_prng_impl",
    "enable_custom_prng",
    "explain_cache_misses",
    "legacy_prng_key",
    "log_compiles",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "threefry_partitionable",
}


def pairs_of(table):
    return {(name, function) for name, functions in table.items() for function in functions.split()}


LACKING, ADDED = pairs_of(NOT_YET), pairs_of(NEWER)


def module_of(package, module):
    for part in filter(None, module.split(".")):
        package = getattr(package, part)
    return package


def signature(function):
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def pairs():
    for module in MODULES:
        ours, theirs = module_of(minijax, module), module_of(jax, module)
        for name in ours.__all__:
            function = getattr(ours, name)
            if (
                name not in OF_SETTINGS
                and callable(function)
                and not isinstance(function, type)
                and hasattr(theirs, name)
            ):
                full_name = f"{module}.{name}".lstrip(".")
                yield full_name, function, getattr(theirs, name)


PAIRS = list(pairs())
every_function = for_each(("name", "ours", "theirs"), PAIRS, ids=[name for name, *_ in PAIRS])


@every_function
def test_parameters_have_jaxs_names_and_order(name, ours, theirs):
    mine, jaxs = signature(ours), signature(theirs)
    if jaxs is None or (jaxs and jaxs[0].kind is inspect.Parameter.VAR_POSITIONAL):
        return  # JAX does not say
    if name == "numpy.array":  # which takes more by position only to say that it does not
        jaxs = [p for p in jaxs if p.kind is not p.VAR_POSITIONAL]
    if jax.__version_info__ < (0, 11):
        jaxs = [p.replace(name=RENAMED.get((p.name, name), p.name)) for p in jaxs]
    expected = []
    skipped = False  # a positional parameter that ours lack: what follows has no position
    for parameter in jaxs:
        if (parameter.name, name) in LACKING:
            skipped = skipped or parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        elif skipped and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            expected.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
        else:
            expected.append(parameter)
    theirs_have = {p.name for p in jaxs}
    mine = [p for p in mine if (p.name, name) not in ADDED or p.name in theirs_have]
    shown = [str(p) for p in expected]
    assert len(mine) == len(expected), shown
    for found, wanted in zip(mine, expected, strict=True):
        assert found.name == wanted.name or wanted.kind is wanted.POSITIONAL_ONLY, shown
        is_positional = wanted.kind in (wanted.POSITIONAL_ONLY, wanted.POSITIONAL_OR_KEYWORD)
        assert found.kind == wanted.kind or (
            is_positional and found.kind is found.POSITIONAL_OR_KEYWORD
        ), f"{found} is {found.kind.description}, not {wanted.kind.description}"


@every_function
def test_defaults_are_jaxs(name, ours, theirs):
    jaxs = signature(theirs) or ()
    wanted = {p.name: p.default for p in jaxs if p.kind is not p.POSITIONAL_ONLY}
    for parameter in signature(ours) or ():
        default = wanted.get(parameter.name, parameter.empty)
        if type(default).__name__ == "NoDefault":  # which JAX refuses when it is called
            default = parameter.empty
        if parameter.default is parameter.empty or isinstance(default, bool | int | float | str):
            assert parameter.default == default or default is parameter.empty


@for_each(("parameter", "name"), sorted(LACKING))
def test_what_is_listed_as_lacking_lacks(parameter, name):
    *path, last = name.split(".")
    function = getattr(module_of(minijax, ".".join(path)), last)
    assert parameter not in inspect.signature(function).parameters
