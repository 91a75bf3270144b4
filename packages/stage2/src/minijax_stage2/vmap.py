"""Vectorization: an interpreter whose values hold one example per index of an axis."""

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any

from minijax_stage1.interpreter import set_interpreter
from minijax_stage2.argument_names import argument_names
from minijax_stage2.errors import MappedAxisError, TreeMismatchError
from minijax_stage2.flat_function import FlatFunction, require_function
from minijax_stage2.functions import broadcast_in_dim, moveaxis
from minijax_stage2.shaped_array import ShapedArray, dialect, typeof, typeof_named
from minijax_stage2.shown import counted, shown
from minijax_stage2.source import name_of, on_behalf_of, user_source
from minijax_stage2.trace import Primitive, Rules, Trace, bind
from minijax_stage2.tracer import Tracer
from minijax_stage2.tree import broadcast_prefix, tree_flatten, tree_unflatten

vmap_rules = Rules("vmap", "vmap_rules")

BatchDim = int | None  # the batch axis of a value; None: shared by all examples


class BatchTracer(Tracer):
    """One value per example, stacked along the axis `batch_dim` of an array."""

    __slots__ = ("batch_dim", "value")

    def __init__(self, trace: "BatchTrace", value: Any, batch_dim: int):
        self.interpreter = trace
        self.source = user_source()
        self.value = value
        self.batch_dim = batch_dim

    @property
    def aval(self) -> ShapedArray:
        aval = mapped_aval(typeof(self.value), self.batch_dim)
        of_axis = self.interpreter.of_axis  # type: ignore[attr-defined]
        return aval if of_axis is None else of_axis.of_example(aval)

    def why_unknown(self) -> str:
        trace = self.interpreter
        return (
            f"vmap maps `{trace.function_name}` over {trace.axis_size} examples at once: "  # type: ignore[attr-defined]
            f"there is one value of type {self.aval} for each of them"
        )


class BatchTrace(Trace):
    """Computes with all examples at once. Other values are constants, shared by all of them.

    `of_axis` is a statement about the batch axis, beside those of types; None: there is none.
    """

    transformation = "vmap"
    tracer = BatchTracer

    def __init__(self, axis_size: int, f: Any = None, of_axis: Any = None):
        super().__init__(f)
        self.axis_size = axis_size
        self.of_axis = of_axis

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        values, dims = self.unbox(args)
        with on_behalf_of(user_source()):
            with set_interpreter(self.parent):
                if dims.count(None) == len(dims):
                    return bind(primitive, *values, **params)
                token = _trace_of_rule.set(self)
                try:
                    outs, out_dims = vmap_rules[primitive](self.axis_size, values, dims, **params)
                finally:
                    _trace_of_rule.reset(token)
            return [self.box(out, dim) for out, dim in zip(outs, out_dims, strict=True)]

    def box(self, value: Any, dim: BatchDim) -> Any:
        if dim is None:
            return value
        return self.tracer(self, value, dim)

    def unbox(self, args: Iterable[Any]) -> tuple[list[Any], list[BatchDim]]:
        """The arrays that hold the examples of values, and their batch axes."""
        values, dims = [], []
        for x in args:
            is_own = isinstance(x, BatchTracer) and x.interpreter is self
            values.append(x.value if is_own else x)
            dims.append(x.batch_dim if is_own else None)
        return values, dims


_trace_of_rule: ContextVar[BatchTrace | None] = ContextVar("trace_of_rule", default=None)


def vmap_flat(
    f: Callable[..., Sequence[Any]],
    values: Sequence[Any],
    dims: Sequence[BatchDim],
    axis_size: int,
    name: Any,
    of_axis: Any = None,
) -> tuple[list[Any], list[BatchDim]]:
    """`vmap` of a function of arrays that returns a list, with batch axes as they come.

    >>> import numpy as np
    >>> vmap_flat(lambda x, y: [x * y], [np.arange(3.0), 2.0], [0, None], 3, "double")
    ([array([0., 2., 4.])], [0])
    """
    trace: BatchTrace = dialect().interpreter(BatchTrace)(axis_size, name, of_axis)
    with trace.run():
        outs = f(*(trace.box(x, dim) for x, dim in zip(values, dims, strict=True)))
    return trace.unbox(outs)


def move_batch_dim(x: Any, axis_size: int, source: BatchDim, destination: int) -> Any:
    """`x` with its batch axis at `destination`, broadcast if it has none.

    >>> move_batch_dim(2.0, 3, None, 0)
    array([2., 2., 2.])
    """
    if source is not None:
        return moveaxis(x, source, destination)
    shape = list(typeof(x).shape)
    kept = [axis for axis in range(len(shape) + 1) if axis != destination]
    shape.insert(destination, int(axis_size))
    return broadcast_in_dim(x, tuple(shape), kept)


def mapped_aval(aval: ShapedArray, dim: BatchDim) -> ShapedArray:
    """The type of one example of a batch of type `aval`."""
    if dim is None:
        return aval
    return aval.without_axis(dim)


def of_batch_axis(values: Sequence[Any], dims: Sequence[BatchDim]) -> Any:
    """The statement about the batch axis of a type, or of the trace whose rule is running."""
    said = _said_of_axis(values, dims)
    return of_mapped_axis() if said is None else said


def of_mapped_axis() -> Any:
    """The statement of the trace whose rule is running about its batch axis, or None."""
    trace = _trace_of_rule.get()
    return None if trace is None else trace.of_axis


def _said_of_axis(values: Sequence[Any], dims: Sequence[BatchDim]) -> Any:
    """The statement of a type about the batch axis of its value; None if no type says anything."""
    for x, dim in zip(values, dims, strict=True):
        if dim is None:  # so it need not be an array
            continue
        aval = typeof(x)
        what = None if type(aval) is ShapedArray else aval.of_axis(dim)
        if what is not None:
            return what
    return None


def vmap(
    fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None
) -> Callable[..., Any]:
    """Map `fun` over an axis of its arguments, as one batched program.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        in_axes: the axis to map for each positional argument: an int for all of them, or a
            tuple with an int, None (not mapped, whatever it is) or a pytree prefix for each.
            Keyword arguments are mapped along axis 0.
        out_axes: the position of the mapped axis in each result: an int, None (only for results
            that are the same for all examples), or a pytree prefix of the result.
        axis_size: the size of the mapped axis, required if no argument is mapped.

    Returns:
        A function of arguments with an additional axis at `in_axes`, whose results have an
        additional axis at `out_axes`.

    Raises:
        MappedAxisError: sizes of the mapped axes differ (the message lists argument, shape and
            axis), an argument or a result has no such axis, or nothing is mapped.
        TreeMismatchError: `in_axes` is not a prefix of the arguments, or `out_axes` of the result.

    >>> import numpy as np
    >>> vmap(lambda x, y: x @ y, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])
    """
    require_function("vmap", fun)
    if axis_size is not None and not isinstance(axis_size, int):
        raise TypeError(f"vmap: axis_size must be an int, found {shown(axis_size)}")
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    check_axes_are_ints("vmap: in_axes", in_axes)
    check_axes_are_ints("vmap: out_axes", out_axes)
    name = name_of(fun)

    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree_flatten((args, kwargs))
        dims, size = mapped_axes("vmap", fun, in_axes, axis_size, args, kwargs)
        flat_fun = FlatFunction(fun, in_tree, has_kwargs=True)
        outs, out_dims = vmap_flat(flat_fun, leaves, dims, size, fun)
        result = tree_unflatten(flat_fun.out_tree, outs)
        destinations = broadcast_axes(f"vmap of `{name}`: out_axes", out_axes, result, "result")
        what = _said_of_axis(leaves, dims)
        placed = [
            _place(name, out, dim, destination, size, what)
            for out, dim, destination in zip(outs, out_dims, destinations, strict=True)
        ]
        return tree_unflatten(flat_fun.out_tree, placed)

    mapped.__name__ = name
    return mapped


def mapped_axes(
    caller: str, fun: Any, in_axes: Any, axis_size: int | None, args: Any, kwargs: Any
) -> tuple[list[BatchDim], int]:
    """The axis to map of each leaf of the arguments, and the size that these axes have.

    Arguments:
        caller: the transformation, for messages.
        fun: the function to map.
        in_axes: the axes as `vmap` takes them.
        axis_size: the size, if given.
        args: the positional arguments.
        kwargs: the arguments by keyword.
    """
    role = f"{caller} of `{name_of(fun)}`"
    leaves = tree_flatten((args, kwargs))[0]
    labels = argument_names(fun, args, kwargs)
    dims = [
        _canonical_axis(f"{role}: {label}", leaf, dim)
        for label, leaf, dim in zip(
            labels, leaves, _flat_in_axes(role, in_axes, args, kwargs), strict=True
        )
    ]
    return dims, _axis_size(caller, fun, zip(labels, leaves, dims, strict=True), axis_size)


def _is_none(x: Any) -> bool:
    return x is None


def check_axes_are_ints(role: str, axes: Any) -> None:
    """Raise an error if axes hold something other than ints and None."""
    leaves, _ = tree_flatten(axes, is_leaf=_is_none)
    for axis in leaves:
        if axis is not None and (isinstance(axis, bool) or not isinstance(axis, int)):
            raise TypeError(
                f"{role} must hold ints and None, found {axis!r} of type "
                f"{type(axis).__name__} in {axes!r}"
            )


def _flat_in_axes(caller: str, in_axes: Any, args: Any, kwargs: Any) -> list[BatchDim]:
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise MappedAxisError(
            f"{caller}: in_axes has {counted(len(in_axes), 'entry')}, {in_axes}, but the "
            f"call has {counted(len(args), 'positional argument')}. Give an entry for each of "
            "these, and none for arguments by keyword."
        )
    dims = broadcast_axes(f"{caller}: in_axes", in_axes, args, "args")
    return dims + [0] * len(tree_flatten(kwargs)[0])


def broadcast_axes(role: str, axes: Any, tree: Any, tree_name: str) -> list[BatchDim]:
    """The axis for each leaf of a tree, of which `axes` are for a prefix."""
    try:
        return broadcast_prefix(axes, tree, is_leaf=_is_none, name=tree_name)
    except TreeMismatchError as error:
        raise TreeMismatchError(f"{role} is not a prefix of {tree_name}: {error}") from None


def _canonical_axis(role: str, leaf: Any, axis: BatchDim) -> BatchDim:
    if axis is None:  # so it need not be an array: `fun` gets it as it is
        return None
    aval = typeof_named(role, leaf)
    if not -aval.ndim <= axis < aval.ndim:
        raise MappedAxisError(
            f"{role} of type {aval} has no axis {axis} to map over. Give it None in in_axes where "
            "it is the same for all examples."
        )
    return axis % aval.ndim


def _axis_size(
    caller: str,
    fun: Any,
    arguments: Iterable[tuple[str, Any, BatchDim]],
    axis_size: int | None,
) -> int:
    rows: list[tuple[Any, ...]] = []
    if axis_size is not None:
        rows.append(("axis_size", "", "", axis_size))
    for label, leaf, dim in arguments:
        if dim is not None:
            shape = typeof(leaf).shape
            rows.append((label, str(shape), dim, shape[dim]))
    sizes: set[int] = {size for *_, size in rows}
    if len(sizes) == 1:
        return sizes.pop()
    if not sizes:
        raise MappedAxisError(
            f"{caller} of `{name_of(fun)}`: nothing is mapped; give in_axes an axis for at least "
            "one argument, or give axis_size"
        )
    table = [("argument", "shape", "axis", "size"), *rows]
    lines = [f"    {a:<20} {b:<14} {c!s:<5} {d}" for a, b, c, d in table]
    raise MappedAxisError(
        f"{caller}: mapped axes differ in size\n{chr(10).join(lines)}\n"
        f"  in call of `{name_of(fun)}` at {user_source()}\n"
        "Choose axes of one size by in_axes, where None stands for an argument that is not mapped."
    )


def _place(
    name: str, out: Any, dim: BatchDim, destination: BatchDim, size: int, of_axis: Any
) -> Any:
    if destination is None:
        if dim is not None:
            raise MappedAxisError(
                f"vmap of `{name}`: out_axes is None for a result that differs between examples. "
                "Give out_axes an int there, the axis along which they are to lie."
            )
        return out
    ndim = typeof(out).ndim + (dim is None)
    if not -ndim <= destination < ndim:
        raise MappedAxisError(
            f"vmap of `{name}`: out_axes {destination} is out of range for a result of {ndim} "
            "axes, that of the examples among them"
        )
    at = destination % ndim
    placed = move_batch_dim(out, size, dim, at)
    if dim is not None or of_axis is None:
        return placed
    return typeof(placed).saying_of_axis(at, of_axis).convert(placed)
