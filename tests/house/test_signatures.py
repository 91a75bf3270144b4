"""Signatures: the order, names and defaults of parameters, beside JAX.

What is not there yet is listed below; the list can only become shorter.
"""

import inspect
from types import SimpleNamespace

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
import pytest
from tables import for_each

import glassjax
import glassjax.experimental.multihost_utils

pytestmark = pytest.mark.newest_jax

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
    for name in glassjax.scipy.stats.__all__
    if inspect.ismodule(getattr(glassjax.scipy.stats, name))
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
# Parameters that JAX does not have, by the functions that do.
BEYOND = {
    "batch_size": "hessian jacfwd jacobian jacrev vmap",
    "max_steps": "lax.while_loop",
    "symbolic": "jit",
    "symbolic_constraints": "jit",
    "checkpoints": "lax.while_loop",
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


LACKING, ADDED = pairs_of(NOT_YET), pairs_of(NEWER) | pairs_of(BEYOND)


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
        ours, theirs = module_of(glassjax, module), module_of(jax, module)
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
    function = getattr(module_of(glassjax, ".".join(path)), last)
    assert parameter not in inspect.signature(function).parameters


# Objects, of which all names that JAX's have are there, but for those below.
def traced(j):
    """What a function is given that is traced, and what its names are then."""
    found = []
    j.jit(lambda x: found.append(SimpleNamespace(**dict.fromkeys(names_of(x), 0))))(1.0)
    return found[0]


def names_of(x):
    """The names of an object that can be read."""
    return [name for name in dir(x) if not name.startswith("_") or name.startswith("__")]


def has(x, name):
    try:
        getattr(x, name)
    except AttributeError:
        return False
    except Exception:  # which says more than that it is not there
        return True
    return True


OBJECTS = {
    "jax.numpy": lambda j: j.numpy,
    "Array": lambda j: j.numpy.ones(2),
    "array.at[0]": lambda j: j.numpy.ones(2).at[0],
    "shard": lambda j: j.numpy.ones(2).addressable_shards[0],
    "key": lambda j: j.random.key(0),
    "tracer": traced,
    "type": lambda j: j.typeof(1.0),
    "ShapeDtypeStruct": lambda j: j.ShapeDtypeStruct((), "float32"),
    "Ref": lambda j: j.new_ref(1.0),
    "Mesh": lambda j: j.make_mesh((1,), ("x",)),
    "AbstractMesh": lambda j: j.sharding.AbstractMesh((2,), ("x",)),
    "NamedSharding": lambda j: j.NamedSharding(j.make_mesh((1,), ("x",)), j.P("x")),
    "SingleDeviceSharding": lambda j: j.numpy.ones(2).sharding,
    "PartitionSpec": lambda j: j.P("x"),
    "PyTreeDef": lambda j: j.tree.structure(1),
    "Partial": lambda j: j.tree_util.Partial(abs),
    "default_registry": lambda j: j.tree_util.default_registry,
    "user context": lambda j: j.make_user_context(1),
    "config": lambda j: j.config,
    "finfo": lambda j: j.numpy.finfo("float32"),
    "ufunc": lambda j: j.numpy.add,
    "primitive": lambda j: j.lax.sin_p,
    "closed jaxpr": lambda j: j.make_jaxpr(j.numpy.sin)(1.0),
    "jaxpr": lambda j: j.make_jaxpr(j.numpy.sin)(1.0).jaxpr,
    "equation": lambda j: j.make_jaxpr(j.numpy.sin)(1.0).eqns[0],
    "jitted": lambda j: j.jit(j.numpy.sin),
    "traced": lambda j: j.jit(j.numpy.sin).trace(1.0),
    "lowered": lambda j: j.jit(j.numpy.sin).lower(1.0),
    "compiled": lambda j: j.jit(j.numpy.sin).lower(1.0).compile(),
    "custom_jvp": lambda j: j.custom_jvp(j.numpy.sin),
    "custom_vjp": lambda j: j.custom_vjp(j.numpy.sin),
    "custom_vmap": lambda j: j.custom_batching.custom_vmap(j.numpy.sin),
    "vjp": lambda j: j.vjp(j.numpy.sin, 1.0)[1],
}
# What they lack: of JAX's insides, of its accelerators, or what it has deprecated.
OBJECTS_LACK = {
    "jax.numpy": "int1 uint1",
    "Array": """__array_module__ __cuda_array_interface__ __numpy_dtype__ clone device_buffer
        device_buffers traceback unsafe_raw_buffer""",
    "key": "__numpy_dtype__ pprint",
    "tracer": """__array_module__ __dlpack__ __jax_array__ addressable_data addressable_shards
        committed delete device devices dimension_as_value full_lower get_const
        get_referent global_shards is_deleted is_fully_addressable
        is_fully_replicated memory_space on_device_size_in_bytes parent sharding
        to_concrete_value traceback unsafe_buffer_pointer val""",
    "type": """T __array_namespace__ all any argmax argmin argpartition argsort
        array_abstraction_level astype at broadcast byteswap choose clip compress
        conj conjugate copy cumprod cumsum dec_rank diagonal dot flat flatten imag
        inc_rank item layout leading_axis_spec lo_ty lower_val lower_val2 mT max
        mean min nonzero normalize nospec prod ptp raise_val
        raise_val2 ravel real repeat reshape reshard round searchsorted shard sort
        squeeze std sum swapaxes take to_device trace transpose unshard
        update_manual_axis_type var view vspace_add""",
    "ShapeDtypeStruct": "format",
    "Mesh": "__call__ are_all_axes_explicit_or_manual is_scalar update",
    "AbstractMesh": """__enter__ __exit__ are_all_axes_explicit_or_manual device_ids devices
        is_multi_process local_devices local_mesh update""",
    "NamedSharding": "replicated_axes",
    "PartitionSpec": "to_ct_spec to_lo to_tangent_spec",
    "PyTreeDef": "from_iterable_tree from_node_data_and_children",
    "default_registry": "__name__ register_dataclass_node",
    "config": "add_option complete_absl_config config_with_absl meta use_absl",
    "primitive": """bind_with_trace def_bind_with_trace def_effectful_abstract_eval2 is_effectful
        ref_allocating skip_canonicalization to_lojax""",
    "closed jaxpr": "map_jaxpr",
    "jaxpr": "map_jaxpr",
    "traced": "__call__ closure_convert effects lojax physicalize with_consts_as_arg",
    "compiled": "call",
    "custom_jvp": "symbolic_zeros",
    "custom_vjp": """defremat defremat_with_logs defvjp_with_accums generic_batching optimize_remat
        remat_rules with_accums with_logs""",
    "vjp": "fun out_tree structured_residuals want_logs",
}
# Which Python itself gives some objects, and what classes are made with.
OF_PYTHON = """
    __annotations__ __class_getitem__ __deepcopy__ __del__ __dict__ __doc__ __getattr__
    __getnewargs_ex__ __hex__ __module__ __oct__ __orig_bases__ __parameters__
    __release_buffer__ __reversed__ __setstate__ __slots__ __type_params__
    __vectorcalloffset__ __weakref__ __static_attributes__ __firstlineno__
    __dataclass_fields__ __dataclass_params__ __match_args__ __replace__ __annotate_func__
    __annotations_cache__ __path__ __spec__ __loader__ __slotnames__
"""


@for_each("kind", list(OBJECTS))
def test_objects_have_the_names_of_jaxs(kind):
    ours, theirs = OBJECTS[kind](glassjax), OBJECTS[kind](jax)
    lacking = {name for name in names_of(theirs) if not has(ours, name)} - {*OF_PYTHON.split()}
    assert lacking <= {*OBJECTS_LACK.get(kind, "").split()}
    known = {*OBJECTS_LACK.get(kind, "").split()}
    assert not {name for name in known if has(ours, name)}, "the list can become shorter"
