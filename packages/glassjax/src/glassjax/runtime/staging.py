"""Staging under JAX's names: programs and result types without computation."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import MethodType
from typing import Any, Literal, NoReturn, overload

from glassjax.errors.arguments import require_flags
from glassjax.runtime import nesting, refs
from glassjax.runtime.array import check_shape, type_of
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.printed_jaxpr import DebugInfo, PrintedJaxpr, printed_jaxpr
from glassjax.runtime.signature import StaticArguments
from glassjax.settings.names import wraps
from glassjax.settings.tracers import dtype_name
from glassjax.shardings.partition_spec import PartitionSpec
from glassjax.shardings.sharding import Sharding, as_sharding
from glassjax.shardings.types import sharding_of_type, type_at, unsharded
from glassjax_stage2 import ShapedArray, Tracer, tree_map, typeof
from glassjax_stage2.arguments import FlatFunction, argument_names, require_function
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import aval_rules, dialect
from glassjax_stage2.source import name_of
from glassjax_stage2.tree import keystr, tree_flatten, tree_flatten_with_path
from glassjax_stage3.staging import abstractify, trace_to_jaxpr


class ShapeDtypeStruct:
    """A shape and a dtype, in place of an array when only its type matters.

    Arguments:
        shape: the sizes of the axes.
        dtype: the dtype of the elements.
        weak_type: whether it is the type of a Python number, which promotes to other dtypes.
        sharding: a `Sharding`, or a `PartitionSpec` of the mesh in context. A function lowered for
            this type is compiled for it.
        manual_axis_type: must be None.
        is_ref: must be False.

    Raises:
        NotImplementedError: `manual_axis_type` or `is_ref` is given.
        TypeError: `shape` is not a shape; a spec is given without a mesh.
        ValueError: `dtype` is None; `sharding` has the wrong type, or more axes than the shape.

    >>> ShapeDtypeStruct((2, 3), "float32")
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    __slots__ = ("dtype", "shape", "sharding", "weak_type")

    is_ref = False
    manual_axis_type = None

    def __init__(
        self,
        shape: Iterable[int],
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        manual_axis_type: None = None,
        is_ref: bool = False,
    ):
        if manual_axis_type is not None or is_ref:
            raise NotImplementedError(
                "ShapeDtypeStruct: manual_axis_type must be None and is_ref False here: primitives "
                "determine what varies in shard_map, and new_ref makes references"
            )
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be given, found None")
        self.shape = tuple(shape)
        check_shape("ShapeDtypeStruct", self.shape)
        self.sharding = _checked_sharding(sharding, self.ndim)
        self.dtype = dialect().dtype_of("ShapeDtypeStruct", dtype)
        self.weak_type = weak_type

    @classmethod
    @evaluated_by_library
    def like(cls, x: Any) -> "ShapeDtypeStruct":
        """The type of an array, of a number, or of anything with a shape and a dtype.

        It has the sharding of a committed array, for instance one from `device_put`.

        >>> ShapeDtypeStruct.like(2.0)
        ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)
        """
        aval = type_of(x)
        is_put = not isinstance(x, Tracer) and getattr(x, "committed", True)
        type_sharding = None if unsharded(aval) is aval else sharding_of_type(aval)
        sharding = getattr(x, "sharding", None) if is_put else type_sharding
        return cls(aval.shape, aval.dtype, weak_type=aval.weak_type, sharding=sharding)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.to_aval().size

    def update(self, **changes: Any) -> "ShapeDtypeStruct":
        """A copy with the given fields replaced."""
        given = {name: getattr(self, name) for name in self.__slots__} | changes
        return ShapeDtypeStruct(given.pop("shape"), given.pop("dtype"), **given)

    def to_aval(self) -> ShapedArray:
        return type_at(ShapedArray(self.shape, self.dtype, self.weak_type), self.sharding)

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"expected an array or a number, found {self}, a type without values: functions of it "
            "can be staged, by eval_shape or jit(f).lower, and not evaluated."
        )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar has no len()")
        return self.shape[0]

    def __eq__(self, other: Any) -> bool:
        return (
            type(other) is ShapeDtypeStruct
            and self.to_aval() is other.to_aval()
            and self.sharding == other.sharding
        )

    def __hash__(self) -> int:
        return hash((self.to_aval(), self.sharding))

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        lies = "" if self.sharding is None else f", sharding={self.sharding}"
        dtype = dtype_name(self.dtype)
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={dtype}{lies}{weak})"


# Where only types matter, as in `eval_shape`, it counts as a constant.
aval_rules[ShapeDtypeStruct] = ShapeDtypeStruct.to_aval


def _checked_sharding(given: Any, ndim: int) -> Sharding | None:
    if isinstance(given, PartitionSpec):
        try:
            given = as_sharding("ShapeDtypeStruct", "sharding", given)
        except ValueError as error:
            raise TypeError(str(error)) from None
    if given is None or isinstance(given, Sharding):
        if given is not None:
            given.parts(ndim)
        return given
    raise ValueError(
        f"ShapeDtypeStruct: sharding must be a Sharding, a PartitionSpec or None, found "
        f"{shown(given)} of type {type(given).__name__}"
    )


def struct_of(x: Any, sharding: Sharding | None = None) -> Any:
    """The type of a value; a type is returned as it is."""
    aval = x if isinstance(x, ShapedArray) else typeof(x)
    if sharding is None and unsharded(aval) is not aval:
        sharding = sharding_of_type(aval)
    if getattr(aval, "is_opaque", False):  # not an array
        return aval
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type, sharding=sharding)


@overload
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Iterable[int] = ...,
    axis_env: None = ...,
    *,
    return_shape: Literal[False] = ...,
) -> Callable[..., PrintedJaxpr]: ...
@overload
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Iterable[int] = ...,
    axis_env: None = ...,
    *,
    return_shape: Literal[True],
) -> Callable[..., tuple[PrintedJaxpr, Any]]: ...
@overload
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Iterable[int] = ...,
    axis_env: None = ...,
    *,
    return_shape: bool,
) -> Callable[..., Any]: ...
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Iterable[int] = (),
    axis_env: None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """Stage `fun` to a jaxpr.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        static_argnums: positions of arguments that are not arrays but hashable Python values.
        axis_env: must be None; map the function by `vmap` to name an axis.
        return_shape: whether to return the types of the results, too.

    Returns:
        A function of the same arguments, whose values are ignored: anything with a shape and dtype
        may replace an array. It returns a `Jaxpr`, or with `return_shape` a pair of the
        jaxpr and the result with a `ShapeDtypeStruct` for each array.

    Raises:
        NotImplementedError: `axis_env` is given.
        TypeError: when called, an argument that is not static is neither array nor type.
        ValueError: a static argument is not hashable, or `fun` has no such parameter.

    >>> import glassjax.numpy as jnp
    >>> make_jaxpr(lambda x: 2.0 * jnp.sin(x))(1.0)
    { lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul 2.0:f32[] b in (c,) }
    """
    require_function("make_jaxpr", fun)
    require_flags("make_jaxpr", return_shape=return_shape)
    if axis_env:
        raise NotImplementedError(
            f"make_jaxpr: axis_env must be None, found {shown(axis_env)}: a collective belongs to "
            "the vmap that names its axis. Stage vmap(f, axis_name=...)."
        )
    static_arguments = StaticArguments(fun, static_argnums)

    @evaluated_by_library
    @wraps(fun)
    def staged_fun(*args: Any, **kwargs: Any) -> PrintedJaxpr | tuple[PrintedJaxpr, Any]:
        static, args, kwargs = static_arguments.split(args, kwargs)
        with nesting.for_readers():
            closed, out = _stage(static_arguments.fill(static), args, kwargs)
        return (closed, tree_map(struct_of, out)) if return_shape else closed

    staged_fun.__name__ = f"make_jaxpr({staged_fun.__name__})"
    staged_fun.__qualname__ = f"make_jaxpr({staged_fun.__qualname__})"
    return staged_fun


@evaluated_by_library
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result types of `fun` for these argument types, without computing anything.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        args: its arguments; anything with a shape and a dtype may replace an array.
        kwargs: its keyword arguments, likewise.

    Returns:
        The result of `fun` with a `ShapeDtypeStruct` in place of each array.

    Raises:
        TypeError: an argument is neither array nor type.

    >>> import glassjax.numpy as jnp
    >>> eval_shape(jnp.dot, ShapeDtypeStruct((2, 3), "float32"), jnp.ones(3, "float32"))
    ShapeDtypeStruct(shape=(2,), dtype=float32)
    """
    require_function("eval_shape", fun)
    its_own = getattr(fun, "eval_shape", None)  # a jitted function applies its out_shardings
    if isinstance(its_own, MethodType):
        return its_own(*args, **kwargs)
    return tree_map(struct_of, _stage(fun, args, kwargs)[1])


def _stage(fun: Callable[..., Any], args: Any, kwargs: Any) -> tuple[PrintedJaxpr, Any]:
    """The program of a call, and its result with tracers in place of arrays.

    The arrays of its references are arguments and results of the program.
    """
    given, rest, places = refs.split_refs("make_jaxpr", (args, kwargs))

    def stage_with_refs(outer: Sequence[refs.Ref]) -> tuple[PrintedJaxpr, Any]:
        if not (given or outer):
            return _stage_alone(fun, args, kwargs)
        with_values = refs.program_with_refs(fun, places, outer)
        with refs.lending(given) as values:
            arguments = [*values, *refs.values_of(outer)], rest
            closed, (_, out) = _stage_alone(with_values, arguments, {})
        return closed, out

    return refs.with_outer_refs(stage_with_refs)


def _stage_alone(fun: Callable[..., Any], args: Any, kwargs: Any) -> tuple[PrintedJaxpr, Any]:
    """The program of a call that uses no references, and its result with tracers."""
    seen: list[Any] = []

    @wraps(fun)
    def recording(*args: Any, **kwargs: Any) -> Any:
        result = fun(*args, **kwargs)
        seen.append(result)
        return result

    leaves, in_tree = tree_flatten((args, kwargs))
    names = partial(argument_names, fun, args, kwargs)
    in_avals = abstractify(f"make_jaxpr of `{name_of(fun)}`", names, leaves, type_of=type_of)
    flat_fun = FlatFunction(recording, in_tree, has_kwargs=True)
    # `seen` has the result in its tree; the tracers in it have the types, also weak and sharded
    # ones.
    closed = trace_to_jaxpr(flat_fun, in_avals, "make_jaxpr", fun, names)
    out = seen.pop()

    out_tree, num_outs = flat_fun.out_tree, len(closed.outvars)

    def describe() -> DebugInfo:
        """Made of structures alone, so that it keeps no arrays, and not the program itself."""
        arguments = in_tree.unflatten(range(len(in_avals)))
        result = out_tree.unflatten(range(num_outs))
        paths = ["result" + keystr(path) for path, _ in tree_flatten_with_path(result)[0]]
        names = tuple(argument_names(fun, *arguments))
        return DebugInfo("jit", _name_and_place(fun), names, tuple(paths))

    return printed_jaxpr(closed, describe), out


def _name_and_place(fun: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(fun), "__code__", None)
    place = "" if code is None else f" at {code.co_filename}:{code.co_firstlineno}"
    return name_of(fun) + place
