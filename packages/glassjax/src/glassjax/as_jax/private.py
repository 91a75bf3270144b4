"""Names that widely used libraries import from JAX's private modules, `jax._src`, in one table."""

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any, NamedTuple, NoReturn, Protocol, cast, runtime_checkable

import numpy as np

from glassjax import Array, config, process_count, xla
from glassjax import numpy as jnp
from glassjax.api_util import safe_map
from glassjax.dtypes import result_type
from glassjax.errors.tracebacks import hiding_frames
from glassjax.extend.backend import backends
from glassjax.runtime.array import to_array
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.settings import number_types
from glassjax.settings.facades import lazy_facade
from glassjax.settings.tracers import printed_type
from glassjax.sharding import Sharding
from glassjax.tree_util import tree_map
from glassjax.xla.placement import explicit_transfers
from glassjax_stage2 import ShapedArray, Trace, Tracer
from glassjax_stage2 import tree as stage2_tree
from glassjax_stage2.functions import canonical_axis
from glassjax_stage2.promotion import cast as cast_to_type
from glassjax_stage2.shaped_array import inexact_dtype
from glassjax_stage2.source import is_machinery
from glassjax_stage2.vmap import BatchTracer

HERE = __name__

# Modules below `jax._src`. A text names the module of this library that stands there, with its
# submodules. The others are made from names, given by the module that defines them; `name:alias` is
# found as `alias`, and `*` is all public names of a module.
MODULES: dict[str, str | dict[str, str]] = {
    "ad_checkpoint": "glassjax.ad_checkpoint",
    "ad_util": {
        "glassjax.extend.core.primitives": "stop_gradient_p",
        "glassjax.interpreters.ad": "Zero instantiate_zeros:instantiate",
    },
    "api": "glassjax",
    "api_util": {"glassjax.api_util": "*", HERE: "infer_argnums_and_argnames"},
    "checkify": {
        "glassjax.experimental.checkify": """
            Error FailedCheckError JaxException JaxRuntimeError NaNError OOBError all_checks check
            check_error checkify user_checks
        """,
    },
    "compiler": {},
    "config": {
        "glassjax": "config",
        HERE: """
            Setting:State explicit_device_get_scope explicit_device_put_scope update_setting:update
        """,
    },
    "core": {
        "glassjax.core": """
            ShapedArray ShapedArray:AbstractValue Trace Tracer eval_jaxpr typeof typeof:get_aval
        """,
        "glassjax.extend.core": "* trace_state_clean",
        HERE: "full_lower physical_aval",
    },
    "debugging": {"glassjax.callbacks": "debug_callback_p"},
    "dispatch": {"glassjax": "effects_barrier:wait_for_tokens"},
    "distributed": {HERE: "ThisProcess:State global_state"},
    "dtypes": {
        "glassjax.dtypes": "canonicalize_dtype extended issubdtype result_type",
        "glassjax.errors": "TypePromotionError",
        "glassjax.numpy": "dtype:DType finfo iinfo",
        HERE: "ExtendedDType dtype supports_inf to_complex_dtype to_inexact_dtype",
    },
    "earray": {HERE: "EArray"},
    "flatten_util": "glassjax.flatten_util",
    "flattree": {},
    "interpreters": "glassjax.interpreters",
    "lax": "glassjax.lax",
    "lax.lax": "glassjax.lax",
    "lib": {HERE: "version_str version_str:__version__ xla_client"},
    "lib.mlir": {},
    "lib.mlir.dialects": {},
    "lib.mlir.ir": "jaxlib.mlir.ir",
    "literals": {
        "glassjax": "Array:LiteralArray Array:TypedNdArray",
        "builtins": "complex:TypedComplex float:TypedFloat int:TypedInt",
    },
    "mesh": "glassjax.sharding",
    "named_sharding": "glassjax.sharding",
    "nn": "glassjax.nn",
    "numpy": "glassjax.numpy",
    "numpy.array_methods": "glassjax.numpy.at",
    "numpy.index_tricks": "glassjax.numpy",
    "numpy.lax_numpy": "glassjax.numpy",
    "numpy.util": {
        "glassjax.numpy.shapes": "ndim shape size",
        HERE: """
            check_arraylike ensure_arraylike ensure_arraylike_tuple promote_args
            promote_args_inexact promote_dtypes promote_dtypes_complex promote_dtypes_inexact
        """,
    },
    "partition_spec": "glassjax.sharding",
    "pjit": {
        "glassjax": "jit jit:pjit",
        "glassjax.extend.core.primitives": "jit_p jit_p:pjit_p",
        "glassjax.lax": "with_sharding_constraint",
        "glassjax.sharding": "auto_axes explicit_axes reshard",
    },
    "public_test_util": {
        "glassjax.test_util": "check_grads check_jvp check_vjp",
        HERE: "check_close",
    },
    "random": "glassjax.random",
    "scipy": "glassjax.scipy",
    "sharding_impls": "glassjax.sharding",
    "stages": "glassjax.stages",
    "state": {},
    "state.types": {"glassjax.runtime.refs": "AbstractRef"},
    "traceback_util": {
        "glassjax_stage2.source": "hide_frames_of:register_exclusion",
        HERE: "_exclude_paths api_boundary include_frame",
    },
    "tree_util": {"glassjax.tree_util": "*", HERE: "node_registry:_registry prefix_errors"},
    "typing": {
        "glassjax": "Array",
        "glassjax.numpy": "dtype:DType",
        "glassjax.typing": "ArrayLike DTypeLike",
        HERE: "DimSize DuckTypedArray Shape SupportsDType SupportsShape",
    },
    "util": {
        "functools": "lru_cache:cache",
        "glassjax.api_util": "safe_map",
        "glassjax.settings.names": "wraps",
        HERE: """
            canonicalize_axis concatenate foreach merge_lists partition_list safe_zip split_list
            tuple_delete tuple_insert tuple_update unzip2 unzip3
        """,
    },
    "xla_bridge": {
        "glassjax.extend.backend": "backends get_backend",
        "glassjax.runtime.devices": "default_backend",
    },
}


class PrivateLoader(Loader):
    """Makes `jax._src`, or a module below it: names are imported when they are first used."""

    def __init__(self, module: str):
        self.module = module

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        row = MODULES.get(self.module, {})
        assert isinstance(row, dict)
        others = _OTHERWISE.get(self.module)

        def otherwise(module: str, name: str) -> Any:
            value = others and others(name)
            if value is None:
                raise AttributeError(f"module {module!r} has no attribute {name!r}")
            return value

        lazy_facade(vars(module), row, otherwise=otherwise)


def private_spec(name: str) -> ModuleSpec | None:
    """The spec of `jax._src`, or of a module made from its row; None for any other module."""
    module = "lib" if name == "jax.lib" else name.removeprefix("jax._src").removeprefix(".")
    is_made = name == "jax._src" or (module != name and isinstance(MODULES.get(module), dict))
    return ModuleSpec(name, PrivateLoader(module), is_package=True) if is_made else None


# Modules with names that no row can list: functions from a name to its value, or None.


def _submodule(name: str) -> ModuleType | None:
    """`jax._src.NAME`, for programs that do not import each."""
    module = f"jax._src.{name}"
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None


def _compiler(name: str) -> None:
    """Libraries replace these functions to forbid compilation; nothing here would call theirs."""
    if name.startswith("backend_compile"):
        raise NotImplementedError(
            f"jax._src.compiler.{name} cannot be replaced in glassjax, so programs cannot be kept "
            "from compiling by it"
        )


def _mlir(name: str) -> Any:
    return import_module(f"jaxlib.mlir.{name}")


def _dialect(name: str) -> Any:
    """A dialect; JAX calls StableHLO by the name that it had before."""
    return _mlir(f"dialects.{'stablehlo' if name == 'hlo' else name}")


def _setting(name: str) -> Any:
    try:
        return Setting(name)
    except AttributeError:
        return None


def _flat_tree(name: str) -> NoReturn:
    raise AttributeError(
        f"jax._src.flattree has no {name!r} here: an equation of `scan` has the parameters "
        "`num_consts` and `num_carry` in place of flat trees"
    )


def __getattr__(name: str) -> Any:
    """The names of `jax.lib`, values of jaxlib that are looked up when they are used."""
    if name == "xla_client":
        return xla.module_of_clients()
    if name == "version_str":
        return xla.jaxlib_version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_OTHERWISE: dict[str, Callable[[str], Any]] = {
    "": _submodule,
    "compiler": _compiler,
    "config": _setting,
    "flattree": _flat_tree,
    "lib.mlir": _mlir,
    "lib.mlir.dialects": _dialect,
    "xla_bridge": lambda name: backends() if name == "_backends" else None,
}


# Private attributes that libraries read of JAX's objects.


def set_attributes() -> None:
    """Give classes of this library these attributes."""
    sharding, trace, tracer = Sharding, Trace, Tracer  # type: tuple[Any, Any, Any]
    batch_tracer: Any = BatchTracer
    sharding._device_assignment = property(lambda sharding: sharding.device_tuple)
    sharding._addressable_device_assignment = property(_addressable_device_assignment)
    batch_tracer.val = property(lambda tracer: tracer.value)
    tracer._trace = property(lambda tracer: tracer.interpreter)
    trace.main = property(lambda trace: trace)  # by which traces are distinguished


def _addressable_device_assignment(sharding: Sharding) -> tuple[Any, ...]:
    here = xla.process_index()
    return tuple(device for device in sharding.device_tuple if device.process_index == here)


# `jax._src.api_util`: arguments by number and by name.


def infer_argnums_and_argnames(
    sig: inspect.Signature, argnums: Any, argnames: Any
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The positions and names of a signature's arguments; one of the two may be None."""
    if argnums is None and argnames is None:
        return (), ()
    numbers = None if argnums is None else _as_tuple(argnums)
    names = None if argnames is None else _as_tuple(argnames)
    count = len(sig.parameters)
    both = [
        (i, name)
        for i, (name, parameter) in enumerate(sig.parameters.items())
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        and (name in (names or ()) if numbers is None else {i, i - count} & {*numbers})
    ]
    return (
        tuple(i for i, _ in both) if numbers is None else numbers,
        tuple(name for _, name in both) if names is None else names,
    )


def _as_tuple(given: Any) -> tuple[Any, ...]:
    is_many = isinstance(given, Iterable) and not isinstance(given, str)
    return tuple(given) if is_many else (given,)


# `jax._src.config`: each setting is an object with its value, which sets it for a block.


explicit_device_put_scope = functools.partial(explicit_transfers, "explicit_device_put")
explicit_device_get_scope = functools.partial(explicit_transfers, "explicit_device_get")


class Setting:
    """A setting: `value`, and a context manager for a block when it is called."""

    def __init__(self, name: str):
        self._option = config.option(name)

    @property
    def value(self) -> Any:
        return self._option.value

    def __call__(self, new_val: Any) -> AbstractContextManager[None]:
        return self._option.override(new_val)


def update_setting(name: str, val: Any) -> None:
    """The same as `config.update`."""
    config.update(name, val)


# `jax._src.core`: values and their types.


def full_lower(val: Any) -> Any:
    """The value: tracers here hold nothing that could be known without them."""
    return val


def physical_aval(aval: Any) -> Any:
    """The type of an array in memory; keys are stored as their words."""
    if not number_types.is_key_type(aval.dtype):
        return aval
    words = number_types.implementation_of(aval.dtype).key_shape
    return printed_type(ShapedArray((*aval.shape, *words), np.dtype(np.uint32)))


# `jax._src.distributed`: this process after `distributed.initialize`.


class ThisProcess:
    """The number of this process, and the service through which processes agree."""

    @property
    def process_id(self) -> int:
        return xla.process_index()

    @property
    def num_processes(self) -> int:
        return process_count()

    @property
    def client(self) -> Any:
        return xla.coordination()


global_state = ThisProcess()


# `jax._src.dtypes` and `jax._src.earray`: dtypes that libraries define, and numbers in 64 bits.


_DOUBLE = (jnp.dtype("float64"), jnp.dtype("complex128"))


class ExtendedDType:
    """The base class of dtypes that a library defines; arrays of them are not here."""


def dtype(x: Any) -> Any:
    """The dtype of a value or of a type; settings give the dtype of a Python number."""
    if x is None:
        raise ValueError("dtype: None has no dtype")
    return result_type(x)


def to_inexact_dtype(dtype: Any) -> Any:
    """The real or complex dtype to which numbers of a dtype convert."""
    return inexact_dtype(jnp.dtype(dtype))


def to_complex_dtype(dtype: Any) -> Any:
    """The complex dtype to which numbers of a dtype convert."""
    return jnp.dtype("complex128" if to_inexact_dtype(dtype) in _DOUBLE else "complex64")


def supports_inf(dtype: jnp.dtype) -> bool:
    """Return True if a dtype of floats has infinities."""
    return bool(jnp.isinf(jnp.asarray(float("inf"), dtype)))


class EArray:
    """Arrays of an `ExtendedDType`; there are none here."""


# `jax._src.numpy.util`: arguments of functions of arrays, promoted.


@evaluated_by_library
def _promoted(args: tuple[Any, ...], choose_dtype: Any = lambda dtype: dtype) -> list[Array]:
    dtype, weak_type = result_type(*args, return_weak_type_flag=True)
    chosen = choose_dtype(dtype)
    if not weak_type:
        return [jnp.asarray(x, chosen) for x in args]
    return [cast_to_type(to_array(x), ShapedArray((), chosen, weak_type=True)) for x in args]


def promote_dtypes(*args: Any) -> list[Array]:
    """Arrays of one dtype, by promotion; their shapes stay."""
    return _promoted(args)


def promote_dtypes_inexact(*args: Any) -> list[Array]:
    """As `promote_dtypes`, of a real or complex dtype."""
    return _promoted(args, to_inexact_dtype)


def promote_dtypes_complex(*args: Any) -> list[Array]:
    """As `promote_dtypes`, of a complex dtype."""
    return _promoted(args, to_complex_dtype)


def promote_args(fun_name: str, *args: Any) -> list[Array]:
    """Arrays of one dtype and one number of axes, for a function that broadcasts them."""
    return _same_rank(promote_dtypes(*ensure_arraylike_as_tuple(fun_name, args)))


def promote_args_inexact(fun_name: str, *args: Any) -> list[Array]:
    """As `promote_args`, of a real or complex dtype."""
    return _same_rank(promote_dtypes_inexact(*ensure_arraylike_as_tuple(fun_name, args)))


def _same_rank(arrays: list[Array]) -> list[Array]:
    rank = max((x.ndim for x in arrays), default=0)
    return [
        x if x.ndim in (0, rank) else x.reshape((1,) * (rank - x.ndim) + x.shape) for x in arrays
    ]


def ensure_arraylike_as_tuple(fun_name: str, args: Any) -> tuple[Array, ...]:
    """The arguments as arrays.

    Raises:
        TypeError: one of them is not an array or a number.
    """
    check_arraylike(fun_name, *args)
    return tuple(map(jnp.asarray, args))


def ensure_arraylike(fun_name: str, *args: Any) -> Any:
    """As `ensure_arraylike_tuple`; a single argument is returned by itself."""
    arrays = ensure_arraylike_as_tuple(fun_name, args)
    return arrays[0] if len(arrays) == 1 else arrays


def check_arraylike(fun_name: str, *args: Any, **options: Any) -> None:
    """Raise TypeError unless all arguments are arrays or numbers."""
    for position, x in enumerate(args):
        if isinstance(x, list | tuple | str) or x is None:
            raise TypeError(
                f"{fun_name}: argument {position} must be an array or a number, found {x!r} of "
                f"type {type(x).__name__}"
            )


# `jax._src.public_test_util`: comparisons of trees of arrays.


# Tolerances, by the bits of the fraction of a float.
_TOLERANCES = {7: 1e-2, 10: 1e-3, 23: 1e-6, 52: 1e-15}


def check_close(
    xs: Any, ys: Any, atol: float | None = None, rtol: float | None = None, err_msg: str = ""
) -> None:
    """Raise AssertionError if the arrays of two trees differ.

    Arguments:
        xs: a tree.
        ys: another of the same structure.
        atol: absolute tolerance; by default it depends on the dtype.
        rtol: relative tolerance, likewise.
        err_msg: text for the message.
    """

    def check_leaves(x: Any, y: Any) -> None:
        x, y = np.asarray(x), np.asarray(y)
        tolerance = max(_tolerance(x.dtype), _tolerance(y.dtype))
        np.testing.assert_allclose(
            x.astype(np.result_type(x.dtype, np.float32)),
            y.astype(np.result_type(y.dtype, np.float32)),
            rtol=tolerance if rtol is None else rtol,
            atol=tolerance if atol is None else atol,
            err_msg=err_msg,
        )

    tree_map(check_leaves, xs, ys)


def _tolerance(dtype: Any) -> float:
    return _TOLERANCES.get(jnp.finfo(dtype).nmant, 0) if jnp.issubdtype(dtype, np.inexact) else 0


# `jax._src.traceback_util`: frames that tracebacks leave out.


_exclude_paths: list[str] = []  # libraries read it; files are hidden by directory here


def api_boundary(fun: Any, **options: Any) -> Any:
    """Leave the library's own frames out of the tracebacks of errors that `fun` raises."""
    return hiding_frames(fun)


def include_frame(frame: FrameType) -> bool:
    """Return True if a frame is the user's."""
    return not is_machinery[frame.f_code.co_filename]


# `jax._src.tree_util`: the registry of nodes, and prefixes.


class _RegistryEntry(NamedTuple):
    to_iter: Callable[[Any], tuple[Any, Any]]
    from_iter: Callable[[Any, Any], Any]


class _Registry(Mapping[type, _RegistryEntry]):
    """The functions of all classes that are nodes of trees, by their class."""

    def __getitem__(self, cls: type) -> _RegistryEntry:
        node = stage2_tree.registry[cls]
        return _RegistryEntry(node.flatten, lambda aux, xs: node.unflatten(aux, tuple(xs)))

    def __iter__(self) -> Iterator[type]:
        return iter(stage2_tree.registry)

    def __len__(self) -> int:
        return len(stage2_tree.registry)


node_registry = _Registry()


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: Any = None
) -> list[Callable[[str], ValueError]]:
    """The error of a tree that is not a prefix of another, as a function of a name; or none."""
    structure = stage2_tree.tree_structure(prefix_tree, is_leaf)

    def error(name: str) -> ValueError | None:
        try:
            structure.flatten_up_to(full_tree, name)
        except ValueError as raised:
            return ValueError(str(raised))
        return None

    return [cast(Any, error)] if error("") else []


# `jax._src.typing`: annotations.


DimSize = int | Any
Shape = Sequence[DimSize]


@runtime_checkable
class SupportsDType(Protocol):
    """Anything with a dtype."""

    @property
    def dtype(self) -> Any: ...


@runtime_checkable
class SupportsShape(Protocol):
    """Anything with a shape."""

    @property
    def shape(self) -> tuple[int, ...]: ...


class DuckTypedArray(SupportsDType, SupportsShape, Protocol):
    """Anything with a dtype and a shape."""


# `jax._src.util`: functions of sequences.


def safe_zip(*args: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The items of sequences of one length side by side, in a list.

    Raises:
        ValueError: they differ in length.
    """
    return list(zip(*args, strict=True))


def foreach(f: Callable[..., Any], *args: Sequence[Any]) -> None:
    """Call `f` with the items of sequences of one length."""
    safe_map(f, *args)


def _unzip(count: int, items: Iterable[Any]) -> tuple[tuple[Any, ...], ...]:
    return tuple(zip(*items, strict=True)) or ((),) * count


unzip2 = functools.partial(_unzip, 2)
unzip3 = functools.partial(_unzip, 3)


def split_list(args: Sequence[Any], ns: Sequence[int]) -> list[list[Any]]:
    """Parts of these lengths, and what is left as the last part."""
    ends = list(itertools.accumulate(ns, initial=0))
    return [list(args[i:j]) for i, j in zip(ends, [*ends[1:], None], strict=True)]


def partition_list(bs: Sequence[bool], items: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The items at False, and those at True."""
    pairs = list(zip(bs, items, strict=True))
    return [x for b, x in pairs if not b], [x for b, x in pairs if b]


def merge_lists(bs: Sequence[bool], at_false: Sequence[Any], at_true: Sequence[Any]) -> list[Any]:
    """The inverse of `partition_list`."""
    first, second = iter(at_false), iter(at_true)
    return [next(second if b else first) for b in bs]


def concatenate(xs: Iterable[Sequence[Any]]) -> list[Any]:
    """One list of all items."""
    return list(itertools.chain.from_iterable(xs))


def canonicalize_axis(axis: int, num_dims: int) -> int:
    """An axis as a number that is not negative.

    Raises:
        ValueError: there is no such axis.
    """
    return canonical_axis("canonicalize_axis", axis, num_dims)


def tuple_insert(t: tuple[Any, ...], idx: int, val: Any) -> tuple[Any, ...]:
    """The tuple with one more item."""
    return (*t[:idx], val, *t[idx:])


def tuple_delete(t: tuple[Any, ...], idx: int) -> tuple[Any, ...]:
    """The tuple without an item."""
    return (*t[:idx], *t[idx + 1 :])


def tuple_update(t: tuple[Any, ...], idx: int, val: Any) -> tuple[Any, ...]:
    """The tuple with another item."""
    return (*t[:idx], val, *t[idx + 1 :])
