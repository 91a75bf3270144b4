"""Python functions called from compiled programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

import glassjax_stage2 as stage2
from glassjax.lax.control_flow.scan import map as map_one_by_one
from glassjax.primitives import methods
from glassjax.primitives.axes import MeshAxis, index_text, manual_along_all
from glassjax.primitives.higher_order import declare_opaque
from glassjax.primitives.loops import region
from glassjax.runtime import array
from glassjax.runtime.effects import TOKEN
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.host_functions import NumberedFunction, call_text
from glassjax.runtime.lowering import mesh_of_devices
from glassjax.settings.number_types import set_number_types
from glassjax.shardings.mesh import AbstractMesh
from glassjax.xla.executables import callback_error
from glassjax_stage1.interpreter import set_interpreter
from glassjax_stage2 import Primitive, ShapedArray, Zero, bind
from glassjax_stage2.errors import shown
from glassjax_stage2.shaped_array import Dialect, dialect, numpys_dialect
from glassjax_stage2.source import name_of, on_behalf_of
from glassjax_stage2.tangent import tangent_type
from glassjax_stage2.tree import PyTreeDef, tree_unflatten
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage3 import JaxprEqn, Literal, Var
from glassjax_stage3.array import new_buffer
from glassjax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature

# A Python callback inside a compiled program: the function, and its types.


Avals = tuple[ShapedArray, ...]


class Callback:
    """A user function that programs call on the host with Arrays.

    Arguments:
        caller: the library function that it was passed to.
        fun: the function.
        in_tree: the structure of the pair `(args, kwargs)`.
        statics: the leaves of the arguments that are not arrays, with their positions.
        out_avals: the types of the results, or None if they are ignored.
    """

    def __init__(
        self,
        caller: str,
        fun: Callable[..., Any],
        in_tree: PyTreeDef,
        statics: tuple[tuple[int, Any], ...],
        returns: bool,
        numbers: Dialect,
    ):
        self.caller = caller
        self.fun = fun
        self.in_tree = in_tree
        self.statics = statics
        self.returns = returns
        self.numbers = numbers
        self._numbered: dict[Any, NumberedFunction] = {}

    def call(self, out_avals: Avals, arrays: Sequence[array.Array]) -> list[np.ndarray[Any, Any]]:
        """Call the function, outside of all transformations.

        Raises:
            RuntimeError: its results differ from the declared ones.
        """
        leaves: list[Any] = list(arrays)
        for position, static in self.statics:
            leaves.insert(position, static)
        args, kwargs = self.in_tree.unflatten(leaves)
        with set_interpreter(None), on_behalf_of(None), set_number_types(numpys_dialect):
            result = self.fun(*args, **kwargs)
        return self._checked(result, out_avals) if self.returns else []

    def _checked(self, result: Any, out_avals: Avals) -> list[np.ndarray[Any, Any]]:
        role = f"{self.caller}: `{name_of(self.fun)}`"
        leaves = stage2.tree_leaves(result)
        if len(leaves) != len(out_avals):
            raise RuntimeError(
                f"{role} returned {len(leaves)} arrays, and result_shape_dtypes says "
                f"{len(out_avals)}"
            )
        outs = []
        for number, (leaf, aval) in enumerate(zip(leaves, out_avals, strict=True)):
            out = np.asarray(leaf)
            dtype = self.numbers.in_memory(out.dtype)
            if dtype != aval.dtype or out.shape != aval.shape:
                raise RuntimeError(
                    f"{role} returned an array of dtype {out.dtype} and shape {out.shape} as "
                    f"result number {number}, and result_shape_dtypes says {aval}"
                )
            outs.append(out.astype(dtype, copy=False))
        return outs

    def evaluate(self, out_avals: Avals, operands: Sequence[Any]) -> list[array.Array]:
        """The results for concrete operands, without a program.

        Raises:
            ExecutionError: the function raised an exception, which is the cause.
        """
        try:
            outs = self.call(out_avals, [_argument(x) for x in operands])
        except Exception as error:
            failure = callback_error(self.caller, error)
        else:
            return [
                array.Array(new_buffer(x, aval), aval)
                for x, aval in zip(outs, out_avals, strict=True)
            ]
        raise failure

    def call_text(
        self,
        b: FunctionBuilder,
        out_avals: Sequence[ShapedArray],
        operands: Sequence[Value],
        has_effects: bool,
        has_token: bool = False,
    ) -> list[Value]:
        """Write a call; a token, if any, comes first in operands and results."""
        in_avals = tuple(x.aval for x in operands)
        key = in_avals, tuple(out_avals), has_token
        if key not in self._numbered:
            self._numbered[key] = NumberedFunction(partial(self._on_host, *key))
        write = partial(call_text, function=self._numbered[key], has_effects=has_effects)
        mesh = mesh_of_devices.get()
        if mesh is None or not has_effects:
            return write(b, operands=operands, out_avals=out_avals)
        if len(out_avals) > has_token:
            raise NotImplementedError(
                f"{self.caller}: `{self}` returns values in a shard_map over some axes of the "
                f"mesh, {mesh.manual_axes}: the devices along the others would each call it. Have "
                "shard_map map over all axes; or use pure_callback, which may be called often"
            )
        return _once_for_each_shard(b, mesh, operands, out_avals, write)

    def _on_host(
        self, in_avals: Avals, out_avals: Avals, has_token: bool, *operands: Any
    ) -> tuple[Any, ...]:
        """The function that a program calls, on numpy views of the program's memory."""
        arrays = [
            array.Array(new_buffer(x, aval), aval.strip_weak_type())
            for x, aval in zip(operands, in_avals, strict=True)
        ]
        outs = self.call(out_avals[has_token:], arrays[has_token:])
        return (*operands[:has_token], *outs)

    def __repr__(self) -> str:
        return name_of(self.fun)


def _once_for_each_shard(
    b: FunctionBuilder,
    mesh: AbstractMesh,
    operands: Sequence[Value],
    out_avals: Sequence[ShapedArray],
    write: Callable[..., Sequence[Value]],
) -> list[Value]:
    """Write a call by the first device along axes left to the partitioner.

    The results are the first operands, which are tokens.
    """

    def by_first(b: FunctionBuilder, operands: Sequence[Value]) -> Sequence[Value]:
        number, is_one = ShapedArray((), np.int32), b.constant(True, TOKEN)
        for name in mesh.axis_names:
            if name not in mesh.manual_axes:
                index = index_text(b, MeshAxis(name, mesh, False), number)
                zero = b.constant(0, number)
                names, types = f"{index.name}, {zero.name}", signature([index, zero], [TOKEN])
                (is_zero,) = b.emit(f"stablehlo.compare EQ, {names} : {types}", TOKEN)
                text = f"stablehlo.and {is_one.name}, {is_zero.name} : {mlir_type(TOKEN)}"
                (is_one,) = b.emit(text, TOKEN)
        given = operands[: len(out_avals)]
        call = region(b, [], lambda _: write(b, operands=operands, out_avals=out_avals))
        rest = region(b, [], lambda _: given)
        text = f'"stablehlo.if"({is_one.name}) ({call}, {rest}) : {signature([is_one], out_avals)}'
        return b.emit(text, *out_avals)

    return manual_along_all(b, mesh, operands, out_avals, by_first)


def _argument(x: Any) -> array.Array:
    x = array.to_array(x)
    return array.Array(array.buffer_here(x, x.aval), x.aval.strip_weak_type())


# One for each function and way of calling it, so that equal programs that are traced again have
# equal texts.
_callbacks: WeakValueDictionary[Any, Callback] = WeakValueDictionary()


def callback_of(
    caller: str,
    fun: Callable[..., Any],
    args: Any,
    kwargs: Any,
    returns: bool,
    takes_statics: bool = False,
) -> tuple[Callback, list[Any]]:
    """The callback for a call, and its operands.

    Raises:
        TypeError: `fun` is not a function; or an argument is not an array, and `takes_statics` is
            false.
    """
    if not callable(fun):
        raise TypeError(f"{caller}: expected a function, found {shown(fun)}")
    leaves, in_tree = stage2.tree_flatten((args, kwargs))
    statics = tuple([(i, x) for i, x in enumerate(leaves) if not array.is_value(x)])
    if statics and not takes_statics:
        found = statics[0][1]
        raise TypeError(
            f"{caller}: arguments of `{name_of(fun)}` have to be arrays or numbers, found "
            f"{shown(found)} of type {type(found).__name__}; the function can close over it"
        )
    operands = [array.to_array(x) for x in leaves if array.is_value(x)]
    key = caller, fun, in_tree, statics, returns, dialect()
    try:
        callback = _callbacks.get(key)
    except TypeError:  # not hashable
        return Callback(*key), operands
    if callback is None:
        callback = _callbacks[key] = Callback(*key)
    return callback, operands


# `pure_callback`: a Python function in a program, without side effects.


pure_callback_p = Primitive("pure_callback", higher_order=True)

ONE_BY_ONE = ("sequential", "sequential_unrolled")
METHODS = (*ONE_BY_ONE, "expand_dims", "broadcast_all", "legacy_vectorized", None)


@evaluated_by_library
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a Python function with Arrays, even from a compiled program.

    The function must return the same for the same arguments, and have no side effects: it may be
    called any number of times, or never, if its result is not used.

    Arguments:
        callback: function of Arrays and pytrees of Arrays, which may use numpy.
        result_shape_dtypes: the types of its results: a pytree of anything with a shape and a
            dtype.
        args: its arguments, pytrees of arrays.
        kwargs: the same, by name.
        sharding: ignored; there is one device.
        vmap_method: what vmap does. "sequential", "sequential_unrolled": one call per example.
            "expand_dims", "broadcast_all": one call for all examples, with a new leading batch axis
            in arguments and results; for an argument shared by all examples, that axis has size 1,
            or the full size. "legacy_vectorized": as these, but such an argument gets no axis.
            None: an error.

    Returns:
        The result of the function.

    Raises:
        ExecutionError: it raised an exception, which is the cause; or its results have other shapes
            or dtypes. The whole program fails.
        ValueError: there is no such method; or it is differentiated, which only `custom_jvp` and
            `custom_vjp` can do.
        NotImplementedError: it is mapped, and `vmap_method` is None.

    >>> import glassjax
    >>> import glassjax.numpy as jnp
    >>> import numpy as np
    >>> x = jnp.arange(3.0)
    >>> glassjax.jit(lambda x: pure_callback(lambda x: np.asarray(x)[::-1], x, x) + 1)(x)
    Array([3., 2., 1.], dtype=float32)
    """
    if vmap_method not in METHODS:
        raise ValueError(
            f"pure_callback: vmap_method has to be one of {METHODS}, found {vmap_method!r}"
        )
    out_avals, out_tree = types_of_results("pure_callback", result_shape_dtypes)
    held, operands = callback_of("pure_callback", callback, args, kwargs, returns=True)
    outs = bind(
        pure_callback_p,
        *operands,
        callback=held,
        result_avals=out_avals,
        vmap_method=vmap_method,
    )
    return array.tree_to_arrays(tree_unflatten(out_tree, outs))


def types_of_results(caller: str, shape_dtypes: Any) -> tuple[Avals, PyTreeDef]:
    """The declared result types of a function."""
    leaves, tree = stage2.tree_flatten(shape_dtypes)
    avals = []
    for leaf in leaves:
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            raise TypeError(
                f"{caller}: leaves of result_shape_dtypes must have a shape and a dtype, found "
                f"{shown(leaf)} of type {type(leaf).__name__}"
            )
        dtype = dialect().dtype_of(caller, leaf.dtype)
        if dtype.itemsize < leaf.dtype.itemsize:
            raise ValueError(
                f"{caller}: result_shape_dtypes says {leaf.dtype}, but numbers have 32 bits here; "
                "glassjax.config.update('enable_x64', True) gives them 64"
            )
        avals.append(ShapedArray(tuple(leaf.shape), dtype))
    return tuple(avals), tree


def _pure_callback_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *operands: Value,
    callback: Callback,
    **params: Any,
) -> list[Value]:
    return callback.call_text(b, out_avals, operands, has_effects=False)


def refuse_derivative(
    primitive: Primitive, function: str = "the Python function `{callback}`"
) -> Callable[..., tuple[list[Any], list[Any]]]:
    """The jvp rule of a primitive that calls a function without a known derivative."""

    def callback_jvp(
        primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        if any(type(t) is not Zero for t in tangents):
            raise ValueError(
                f"{primitive}: {function.format(**params)} has no known derivative. Give "
                "one by custom_jvp or custom_vjp, or hold its arguments constant by "
                "lax.stop_gradient"
            )
        outs = bind(primitive, *primals, **params)
        return outs, [Zero(tangent_type(stage2.typeof(out))) for out in outs]

    return callback_jvp


def _pure_callback_vmap(
    axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    *,
    callback: Callback,
    result_avals: Avals,
    vmap_method: str | None,
) -> tuple[list[Any], list[BatchDim]]:
    params: dict[str, Any] = {"callback": callback, "vmap_method": vmap_method}
    if vmap_method in ONE_BY_ONE:
        params["result_avals"] = result_avals
        return one_by_one(pure_callback_p, axis, values, dims, params)
    moved = all_at_once("pure_callback", callback, axis, values, dims, vmap_method)
    params["result_avals"] = tuple(
        ShapedArray((axis.size, *x.shape), x.dtype) for x in result_avals
    )
    outs = bind(pure_callback_p, *moved, **params)
    return outs, [0] * len(outs)


def all_at_once(
    caller: str,
    function: Any,
    axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    vmap_method: str | None,
) -> list[Any]:
    """The arguments of one call for all examples."""
    if vmap_method is None:
        raise NotImplementedError(
            f"{caller}: vmap does not know whether `{function}` can be called for all "
            "examples at once: give vmap_method, one of "
            f"{', '.join(map(repr, filter(None, METHODS)))}"
        )
    return [
        _unmapped(x, axis, vmap_method) if dim is None else move_batch_dim(x, axis, dim, 0)
        for x, dim in zip(values, dims, strict=True)
    ]


def _unmapped(x: Any, axis: BatchAxis, vmap_method: str) -> Any:
    """An argument shared by all examples, prepared for a method."""
    shape = stage2.typeof(x).shape
    if vmap_method == "expand_dims":
        return stage2.reshape(x, (1, *shape))
    if vmap_method == "broadcast_all":
        return stage2.broadcast_in_dim(x, (axis.size, *shape), tuple(range(1, len(shape) + 1)))
    return x


def one_by_one(
    primitive: Primitive,
    axis: BatchAxis,
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    params: dict[str, Any],
) -> tuple[list[Any], list[BatchDim]]:
    """The vmap rule that calls a function once per example."""
    mapped = [
        move_batch_dim(x, axis, dim, 0)
        for x, dim in zip(values, dims, strict=True)
        if dim is not None
    ]

    def call_example(elements: list[Any]) -> list[Any]:
        rest = iter(elements)
        operands = [x if dim is None else next(rest) for x, dim in zip(values, dims, strict=True)]
        return bind(primitive, *operands, **params)

    call_example.__name__ = str(primitive)
    outs = map_one_by_one(call_example, mapped)
    return outs, [0] * len(outs)


def _callback_impl(
    *operands: Any, callback: Callback, result_avals: Avals = (), **params: Any
) -> Any:
    return callback.evaluate(result_avals, operands)


def _callback_type(
    *in_avals: ShapedArray, result_avals: Avals = (), **params: Any
) -> list[ShapedArray]:
    return list(result_avals)


declare_opaque(
    pure_callback_p,
    evaluate=_callback_impl,
    abstract_eval=_callback_type,
    lower=_pure_callback_lower,
    vmap=_pure_callback_vmap,
    jvp=refuse_derivative(pure_callback_p),
    order=None,
    effects=False,
    calls_host=True,
)


# Callbacks with side effects: `io_callback` and `debug_callback`.


io_callback_p = Primitive("io_callback", higher_order=True)
debug_callback_p = Primitive("debug_callback", higher_order=True)


@evaluated_by_library
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function with Arrays, even from a compiled program, for its side effects.

    Calls are neither dropped nor repeated, and keep program order, whether or not their results are
    used.

    Arguments:
        callback: function of Arrays and pytrees of Arrays.
        result_shape_dtypes: the types of its results: a pytree of anything with a shape and a
            dtype; None if it returns nothing.
        args, kwargs: its arguments, pytrees of arrays.
        sharding: ignored; there is one device.
        ordered: whether the order matters, so that `vmap` cannot map it. Here calls are always in
            program order.

    Returns:
        The result of the function.

    Raises:
        ExecutionError: it raised an exception, which is the cause; or its results have other shapes
            or dtypes. The whole program fails.
        ValueError: it is differentiated; or it is `ordered`, and mapped.

    >>> import glassjax
    >>> seen = []
    >>> @glassjax.jit
    ... def f(x):
    ...     io_callback(lambda x: seen.append(int(x)), None, x)
    ...     return x + 1
    >>> f(1), f(2), seen
    (Array(2, dtype=int32, weak_type=True), Array(3, dtype=int32, weak_type=True), [1, 2])
    """
    out_avals, out_tree = types_of_results("io_callback", result_shape_dtypes)
    held, operands = callback_of("io_callback", callback, args, kwargs, returns=True)
    outs = bind(
        io_callback_p, *operands, callback=held, result_avals=out_avals, ordered=bool(ordered)
    )
    return array.tree_to_arrays(tree_unflatten(out_tree, outs))


def debug_callback(
    callback: Callable[..., Any], args: Any, kwargs: Any, caller: str, ordered: bool
) -> None:
    """Call a function from programs that only observes: derivatives ignore it."""
    held, operands = callback_of(caller, callback, args, kwargs, returns=False, takes_statics=True)
    bind(debug_callback_p, *operands, callback=held, ordered=bool(ordered))


def effects_barrier() -> None:
    """Wait until all side effects of programs are done.

    They are done when calls return, since a call waits for a program that calls Python functions.

    >>> f = glassjax.jit(lambda x: glassjax.debug.print("x is {}", x))
    >>> f(1)
    x is 1
    >>> glassjax.effects_barrier()
    """


def _io_callback_lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *operands: Value,
    callback: Callback,
    has_token: bool = False,
    **params: Any,
) -> list[Value]:
    return callback.call_text(b, out_avals, operands, has_effects=True, has_token=has_token)


def _io_vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], **params: Any
) -> tuple[list[Any], list[BatchDim]]:
    if params["ordered"]:
        raise ValueError(
            f"io_callback: `{params['callback']}` is mapped by vmap, and examples have no order; "
            "ordered=False calls it for one after the other"
        )
    return one_by_one(io_callback_p, axis, values, dims, params)


def _debug_callback_vmap(
    axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], **params: Any
) -> tuple[list[Any], list[BatchDim]]:
    return one_by_one(debug_callback_p, axis, values, dims, params)


def _callback_effects(
    with_token: Any, eqn: JaxprEqn, token: Var | Literal, following: Var
) -> list[JaxprEqn]:
    params = {**eqn.params, "has_token": True}
    invars, outvars = [token, *eqn.invars], [following, *eqn.outvars]
    return [JaxprEqn(eqn.primitive, invars, outvars, params, eqn.source)]


for _primitive, _io_callback_vmap, _jvp in (
    (io_callback_p, _io_vmap, refuse_derivative(io_callback_p)),
    (debug_callback_p, _debug_callback_vmap, None),
):
    declare_opaque(
        _primitive,
        evaluate=_callback_impl,
        abstract_eval=_callback_type,
        lower=_io_callback_lower,
        vmap=_io_callback_vmap,
        jvp=_jvp,
        order=_callback_effects,
        effects=True,
        calls_host=True,
    )
methods.effect_rules[io_callback_p] = methods.ordered_or_not(
    methods.OrderedIOEffect(), methods.IOEffect()
)
methods.effect_rules[debug_callback_p] = methods.ordered_or_not(
    methods.OrderedDebugEffect(), methods.DebugEffect()
)


__all__ = ["debug_callback", "effects_barrier", "io_callback", "pure_callback"]
