"""`sparsify`: programs of dense arrays, run on sparse arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import glassjax_stage2 as stage2
from glassjax import lax
from glassjax import numpy as jnp
from glassjax.experimental.sparse import bcoo_products, bcoo_shapes
from glassjax.experimental.sparse.api import todense_p
from glassjax.experimental.sparse.base import BCOO
from glassjax.experimental.sparse.bcsr import (
    BCSR,
    bcsr_broadcast_in_dim,
    bcsr_concatenate,
    bcsr_dot_general,
)
from glassjax.lax.control_flow.conditionals import switch
from glassjax.lax.control_flow.scan import scan
from glassjax.lax.control_flow.while_loop import while_loop
from glassjax.lax.primitive_names import primitive_named
from glassjax.primitives.custom_trace import Trace, program_of
from glassjax.runtime.array import to_array, tree_to_arrays
from glassjax.runtime.evaluation import evaluated_by_library
from glassjax.runtime.jit import jit
from glassjax.settings.names import wraps
from glassjax.settings.tracers import Tracer
from glassjax.transforms.custom_derivatives import custom_jvp_call_p, custom_vjp_call_p
from glassjax_stage1.interpreter import set_interpreter
from glassjax_stage2 import Primitive, ShapedArray, bind1, typeof
from glassjax_stage2.arguments import FlatFunction, require_function
from glassjax_stage2.source import on_behalf_of, user_source
from glassjax_stage3 import Jaxpr, eval_jaxpr, jit_p
from glassjax_stage3.executable import cached_by_jaxpr
from glassjax_stage3.staging import trace_to_jaxpr

# `sparsify`: an interpreter of primitives whose operands are sparse arrays.
#
# Its tracers look like dense arrays to the function.


# `rule(*operands, **params) -> results`, where at least one operand is sparse: `bcsr_rules` if one
# is a BCSR, else `bcoo_rules`.
bcoo_rules: dict[Primitive, Callable[..., Sequence[Any]]] = {}
bcsr_rules: dict[Primitive, Callable[..., Sequence[Any]]] = {}

# Primitives with f(0) != 0, whose results would be dense.
_DENSE = {
    *("acos", "acosh", "bessel_i0e", "cos", "cosh", "exp", "exp2", "log", "log2", "logistic"),
    *("eq", "ge", "gt", "le", "lt", "ne", "xor"),
}


def is_sparse(x: Any) -> bool:
    """Return True for the classes of sparse arrays that `sparsify` supports."""
    return isinstance(x, BCOO | BCSR)


def sparse_type(x: Any) -> ShapedArray:
    """The type of the dense array that equals `x`."""
    if not is_sparse(x):
        return typeof(x)
    aval = typeof(x.data)
    return ShapedArray(tuple(x.shape), aval.dtype, aval.weak_type)


class SparseTracer(Tracer):
    """A sparse array inside of a function that `sparsify` transforms."""

    def __init__(self, trace: SparseTrace, value: BCOO | BCSR):
        self.interpreter = trace
        self.source = user_source()
        self.value = value

    @property
    def aval(self) -> ShapedArray:  # type: ignore[override]
        return sparse_type(self.value)

    def why_unknown(self) -> str:
        return f"it is {self.value}, and sparse.todense makes an array of it"


class SparseTrace(Trace):
    """Applies primitives to sparse arrays by rules, and leaves all others to its parent."""

    transformation = "sparsify"

    def to_tracer(self, x: Any) -> Any:
        """The tracer of a sparse array; a dense array unchanged."""
        return SparseTracer(self, x) if is_sparse(x) else x

    def to_array(self, x: Any) -> Any:
        """The array behind a tracer of this trace; anything else unchanged."""
        own = isinstance(x, SparseTracer) and x.interpreter is self
        return x.value if own else x

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        operands = [self.to_array(x) for x in args]
        if not any(map(is_sparse, operands)):
            return self.leave_to_parent(primitive, args, params)
        rules = bcsr_rules if any(isinstance(x, BCSR) for x in operands) else bcoo_rules
        rule = rules.get(primitive)
        if rule is None:
            program = program_of(primitive, params)
            if program is None:
                raise _no_rule(primitive, rules is bcsr_rules)
            return program(*args)
        with on_behalf_of(user_source()), set_interpreter(self.parent):
            return [self.to_tracer(out) for out in rule(*operands, **params)]


def _no_rule(primitive: Primitive, for_rows: bool) -> NotImplementedError:
    why = "its result would be dense" if primitive.name in _DENSE else "none is known"
    other = "; BCOO arrays, which to_bcoo() makes, have more rules" if for_rows else ""
    return NotImplementedError(
        f"sparsify: the primitive `{primitive}` has no rule for sparse arrays: {why}. "
        f"sparse.todense makes an array of a sparse one{other}"
    )


def evaluate_sparse(program: Callable[..., Sequence[Any]], args: Sequence[Any]) -> list[Any]:
    """The results of a function of arrays, some of them sparse."""
    trace = SparseTrace(program)
    with trace.run():
        outs = program(*map(trace.to_tracer, args))
        return [trace.to_array(out) for out in outs]


def evaluate_jaxpr(jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
    """The results of a program of arrays, some of them sparse."""
    return evaluate_sparse(partial(eval_jaxpr, jaxpr, []), args)


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Return the version of `f`, a function of dense arrays, for sparse arrays.

    Arguments:
        f: function of arrays and pytrees of arrays. Its operations must have rules: operations that
            preserve zeros, sums, products, changes of shape, loops and branches do.
        use_tracer: whether `f` itself is applied to tracers of the sparse arrays. Otherwise it is
            staged, and its program interpreted.

    Returns:
        A function whose arguments may be BCOO and BCSR arrays as well as dense ones. Results
        computed from sparse arrays by sparse operations are sparse. Keyword arguments are passed to
        `f` unchanged.

    Raises:
        TypeError: `f` is not a function.
        NotImplementedError: when called, an operation has no rule, since its result would be dense.

    >>> from glassjax.experimental import sparse
    >>> @sparse.sparsify
    ... def f(m, v):
    ...     return 2 * jnp.sin(m).T @ v
    >>> f(sparse.eye(3), jnp.arange(3.0))
    Array([0.       , 1.6829419, 3.3658838], dtype=float32)
    """
    require_function("sparsify", f)

    @wraps(f)
    @evaluated_by_library
    def sparsified(*args: Any, **params: Any) -> Any:
        leaves, in_tree = stage2.tree_flatten(args, is_leaf=is_sparse)
        leaves = [x if is_sparse(x) else to_array(x) for x in leaves]
        flat_fun = FlatFunction(wraps(f)(partial(f, **params)), in_tree)
        program: Callable[..., Sequence[Any]] = flat_fun
        if not use_tracer:
            closed = trace_to_jaxpr(flat_fun, list(map(sparse_type, leaves)), "sparsify", f)
            program = partial(eval_jaxpr, closed, closed.consts)
        outs = tree_to_arrays(evaluate_sparse(program, leaves))
        return stage2.tree_unflatten(flat_fun.out_tree, outs)

    return sparsified


# Arrays that share their buffers.


class SparsifyValue(NamedTuple):
    """An array, sparse or dense, whose buffers are in a `SparsifyEnv`.

    Attributes:
        shape: its shape.
        data_ref: the number of the buffer of elements.
        indices_ref: the number of the buffer of coordinates; None if it is dense.
        indptr_ref: the number of the buffer of row starts; None if it is not a BCSR.
        indices_sorted: whether the coordinates are in order.
        unique_indices: whether no two elements have the same place.
    """

    shape: tuple[int, ...]
    data_ref: int | None
    indices_ref: int | None = None
    indptr_ref: int | None = None
    indices_sorted: bool | None = False
    unique_indices: bool | None = False

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def is_sparse(self) -> bool:
        """Return True for a BCOO or BCSR."""
        return self.indices_ref is not None

    def is_dense(self) -> bool:
        """Return True for a dense array."""
        return self.indices_ref is None

    def is_bcoo(self) -> bool:
        """Return True for a BCOO."""
        return self.is_sparse() and self.indptr_ref is None

    def is_bcsr(self) -> bool:
        """Return True for a BCSR."""
        return self.is_sparse() and self.indptr_ref is not None


class SparsifyEnv:
    """Buffers that several `SparsifyValue`s share.

    Arguments:
        bufs: the initial buffers.

    >>> from glassjax.experimental.sparse import transform
    >>> env = transform.SparsifyEnv()
    >>> value = env.dense(jnp.ones(3))
    >>> value.is_sparse(), env.data(value)
    (False, Array([1., 1., 1.], dtype=float32))
    """

    def __init__(self, bufs: Sequence[Any] = ()):
        self._buffers = list(bufs)

    def _push(self, array: Any) -> int:
        self._buffers.append(jnp.asarray(array))
        return len(self._buffers) - 1

    def _buffer(self, name: str, ref: int | None) -> Any:
        if ref is None:
            raise RuntimeError(f"SparsifyEnv.{name}: the value has none, its {name}_ref is None")
        return self._buffers[ref]

    def data(self, spvalue: SparsifyValue) -> Any:
        """The elements of a value."""
        return self._buffer("data", spvalue.data_ref)

    def indices(self, spvalue: SparsifyValue) -> Any:
        """The coordinates of the elements of a sparse value."""
        return self._buffer("indices", spvalue.indices_ref)

    def indptr(self, spvalue: SparsifyValue) -> Any:
        """The starts of the rows of a BCSR."""
        return self._buffer("indptr", spvalue.indptr_ref)

    def dense(self, data: Any) -> SparsifyValue:
        """A new dense value."""
        return SparsifyValue(np.shape(data), self._push(data))

    def sparse(
        self, shape: tuple[int, ...], data: Any = None, indices: Any = None, indptr: Any = None,
        *, data_ref: int | None = None, indices_ref: int | None = None,
        indptr_ref: int | None = None, indices_sorted: bool = False, unique_indices: bool = False,
    ) -> SparsifyValue:  # fmt: skip
        """A new sparse value, with buffers that are new or shared by number.

        Raises:
            ValueError: for elements or coordinates, neither or both of buffer and number are given.
        """
        refs = []
        for name, array, ref in (
            ("data", data, data_ref),
            ("indices", indices, indices_ref),
            ("indptr", indptr, indptr_ref),
        ):
            lacks = array is None and ref is None and name != "indptr"
            if lacks or (array is not None and ref is not None):
                raise ValueError(
                    f"SparsifyEnv.sparse: expected {name} or {name}_ref, and not both, found "
                    f"{'neither' if lacks else 'both'}"
                )
            refs.append(ref if array is None else self._push(array))
        return SparsifyValue(
            tuple(shape), refs[0], refs[1], refs[2], indices_sorted, unique_indices
        )


def arrays_to_spvalues(spenv: SparsifyEnv, args: Any) -> Any:
    """The tree with each array, sparse or dense, replaced by its value in `spenv`.

    >>> from glassjax.experimental.sparse import transform
    >>> transform.arrays_to_spvalues(transform.SparsifyEnv(), [jnp.ones(2)])
    [SparsifyValue(shape=(2,), data_ref=0, indices_ref=None, indptr_ref=None, indices_sorted=False, unique_indices=False)]
    """  # noqa: E501

    def to_value(x: Any) -> SparsifyValue:
        if not is_sparse(x):
            return spenv.dense(x)
        arrays, (shape, *flags) = x.tree_flatten()
        options = dict(zip(x.settings, flags, strict=True))
        return spenv.sparse(shape, *arrays, **options)

    return stage2.tree_map(to_value, args, is_leaf=is_sparse)


def _is_value(x: Any) -> bool:
    return isinstance(x, SparsifyValue)


def spvalues_to_arrays(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """The tree with each value in `spenv` replaced by its array, sparse or dense."""

    def to_array(value: SparsifyValue) -> Any:
        if value.is_dense():
            return spenv.data(value)
        options: dict[str, Any] = {
            "shape": value.shape,
            "indices_sorted": bool(value.indices_sorted),
            "unique_indices": bool(value.unique_indices),
        }
        pair = spenv.data(value), spenv.indices(value)
        if value.is_bcoo():
            return BCOO(pair, **options)
        return BCSR((*pair, spenv.indptr(value)), **options)

    return stage2.tree_map(to_array, spvalues, is_leaf=_is_value)


def spvalues_to_avals(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """The tree with each value in `spenv` replaced by the type of its dense array."""

    def to_aval(value: SparsifyValue) -> ShapedArray:
        aval = typeof(spenv.data(value))
        return ShapedArray(value.shape, aval.dtype, aval.weak_type)

    return stage2.tree_map(to_aval, spvalues, is_leaf=_is_value)


# The rules of primitives for sparse arrays, by which `sparsify` interprets programs.


BOTH = (bcoo_rules, bcsr_rules)

# Functions f of one number with f(0) = 0: the result is as sparse as the operand.
_LINEAR = "imag neg real stop_gradient"
_OTHERS = """
    abs asin asinh atan atanh bessel_i1e cbrt ceil convert_element_type erf erf_inv expm1 floor
    log1p reduce_precision round sign sin sinh sqrt square tan tanh
"""


def _primitive(name: str) -> Primitive:
    return primitive_named("lax", f"{name}_p")


def _elementwise_rule(primitive: Primitive, is_linear: bool) -> Callable[..., list[Any]]:
    """The rule of an elementwise function that preserves zeros."""

    def elementwise_rule(mat: Any, **params: Any) -> list[Any]:
        if not (is_linear or mat.unique_indices):
            mat = mat.sum_duplicates(mat.nse, remove_zeros=False)
        (data, *rest), aux_data = mat.tree_flatten()
        return [mat.tree_unflatten(aux_data, (bind1(primitive, data, **params), *rest))]

    return elementwise_rule


for _names, _is_linear in ((_LINEAR, True), (_OTHERS, False)):
    for _name in _names.split():
        for _rules in BOTH:
            _rules[_primitive(_name)] = _elementwise_rule(_primitive(_name), _is_linear)


def _integer_pow(mat: Any, *, y: int) -> list[Any]:
    if y <= 0:
        raise NotImplementedError(
            f"sparsify: a sparse array to the power of {y} would be dense; sparse.todense makes "
            "an array"
        )
    return _elementwise_rule(_primitive("integer_pow"), False)(mat, y=y)


for _rules in BOTH:
    _rules[_primitive("integer_pow")] = _integer_pow
    _rules[todense_p] = lambda mat: [mat.todense()]


# Sums and products.


def _sparse_add(x: Any, y: Any) -> list[Any]:
    if is_sparse(x) and is_sparse(y) and x.indices is y.indices:
        return [x._with_data(x.data + y.data)]
    return [bcoo_products.add(x, y) if is_sparse(x) else bcoo_products.add(y, x)]


def _sub(x: Any, y: Any) -> list[Any]:
    return _sparse_add(x, y._with_data(-y.data) if is_sparse(y) else -y)


def _mul(x: Any, y: Any) -> list[Any]:
    if not is_sparse(x):
        x, y = y, x
    if is_sparse(y) and x.indices is y.indices and x.unique_indices:
        return [x._with_data(x.data * y.data)]
    return [bcoo_products.multiply(x, y)]


def _div(x: Any, y: Any) -> list[Any]:
    if is_sparse(y):
        raise NotImplementedError(
            "sparsify: a quotient by a sparse array would be dense; sparse.todense makes an array"
        )
    return [bcoo_products.multiply(x, y, lax.div)]


def _sparse_reduce_sum(mat: BCOO, *, axes: Sequence[int], **params: Any) -> list[Any]:
    out = bcoo_products.bcoo_reduce_sum(mat, axes=axes)
    return [out if out.shape else out.todense()]


bcoo_rules[_primitive("add")] = _sparse_add
bcoo_rules[_primitive("add_any")] = _sparse_add
bcoo_rules[_primitive("sub")] = _sub
bcoo_rules[_primitive("mul")] = _mul
bcoo_rules[_primitive("div")] = _div
bcoo_rules[_primitive("reduce_sum")] = _sparse_reduce_sum


# Functions with a counterpart for sparse arrays.


def _without_defaults(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _by(function: Callable[..., Any]) -> Callable[..., list[Any]]:
    """The rule of a primitive whose operands and parameters are those `function` takes."""

    def function_rule(*operands: Any, **params: Any) -> list[Any]:
        return [function(*operands, **_without_defaults(params))]

    return function_rule


def _list_rule(function: Callable[..., Any]) -> Callable[..., list[Any]]:
    return lambda *operands, **params: [function(operands, **params)]


def _sparse_reshape(mat: BCOO, *, new_sizes: tuple[int, ...], **params: Any) -> list[Any]:
    """Reshape; adding or removing axes of size 1 keeps the kinds of the other axes."""
    if len(new_sizes) < mat.ndim:
        gone = _ones_between(mat.shape, new_sizes)
        if gone is not None:
            return [bcoo_shapes.bcoo_squeeze(mat, dimensions=gone)]
    if len(new_sizes) > mat.ndim:
        added = _ones_between(new_sizes, mat.shape)
        if added is not None:
            kept = [axis for axis in range(len(new_sizes)) if axis not in added]
            return [
                bcoo_shapes.bcoo_broadcast_in_dim(mat, shape=new_sizes, broadcast_dimensions=kept)
            ]
    return [bcoo_shapes.bcoo_reshape(mat, new_sizes=new_sizes)]


def _ones_between(longer: Sequence[int], shorter: Sequence[int]) -> list[int] | None:
    """The axes of size 1 that `longer` has and `shorter` has not; None if others differ."""
    gone: list[int] = []
    rest = list(shorter)
    for axis, n in enumerate(longer):
        if rest and rest[0] == n:
            rest.pop(0)
        elif n == 1:
            gone.append(axis)
        else:
            return None
    return None if rest else gone


bcoo_rules[_primitive("broadcast_in_dim")] = _by(bcoo_shapes.bcoo_broadcast_in_dim)
bcoo_rules[_primitive("concatenate")] = _list_rule(bcoo_shapes.bcoo_concatenate)
bcoo_rules[_primitive("conv_general_dilated")] = _by(bcoo_products.bcoo_conv_general_dilated)
bcoo_rules[_primitive("dot_general")] = _by(bcoo_products.bcoo_dot_general)
bcoo_rules[_primitive("dynamic_slice")] = lambda mat, *starts, slice_sizes: [
    bcoo_shapes.bcoo_dynamic_slice(mat, starts, slice_sizes)
]
bcoo_rules[_primitive("gather")] = _by(bcoo_shapes.bcoo_gather)
bcoo_rules[_primitive("reshape")] = _sparse_reshape
bcoo_rules[_primitive("rev")] = _by(bcoo_shapes.bcoo_rev)
bcoo_rules[_primitive("slice")] = _by(bcoo_shapes.bcoo_slice)
bcoo_rules[_primitive("squeeze")] = _by(bcoo_shapes.bcoo_squeeze)
bcoo_rules[_primitive("transpose")] = _by(bcoo_shapes.bcoo_transpose)
bcsr_rules[_primitive("broadcast_in_dim")] = _by(bcsr_broadcast_in_dim)
bcsr_rules[_primitive("concatenate")] = _list_rule(bcsr_concatenate)
bcsr_rules[_primitive("dot_general")] = _by(bcsr_dot_general)


# Higher-order primitives.


@cached_by_jaxpr
def _sparse_program(jaxpr: Jaxpr, name: str) -> Callable[..., Any]:
    def sparse_program(*args: Any) -> list[Any]:
        return evaluate_jaxpr(jaxpr, args)

    sparse_program.__name__ = name
    return jit(sparse_program)


def _jit(*operands: Any, jaxpr: Jaxpr, name: str, **params: Any) -> list[Any]:
    outs: list[Any] = _sparse_program(jaxpr, name)(*operands)
    return outs


def _sparse_custom_call(*operands: Any, jaxpr: Jaxpr, **params: Any) -> list[Any]:
    return evaluate_jaxpr(jaxpr, operands)


def _cond(pred: Any, *operands: Any, branches: Sequence[Jaxpr], **params: Any) -> list[Any]:
    functions = [partial(_sparse_custom_call, jaxpr=branch) for branch in branches]
    outs: list[Any] = switch(lax.convert_element_type(pred, "int32"), functions, *operands)
    return outs


def _while(
    *operands: Any, cond_jaxpr: Jaxpr, cond_consts: int, body_jaxpr: Jaxpr, body_consts: int,
    **params: Any,
) -> list[Any]:  # fmt: skip
    cond_operands, rest = operands[:cond_consts], operands[cond_consts:]
    body_operands, carry = rest[:body_consts], rest[body_consts:]
    outs: list[Any] = while_loop(
        lambda carry: evaluate_jaxpr(cond_jaxpr, (*cond_operands, *carry))[0],
        lambda carry: evaluate_jaxpr(body_jaxpr, (*body_operands, *carry)),
        list(carry),
    )
    return outs


def _sparse_scan(
    *operands: Any, jaxpr: Jaxpr, num_consts: int, num_carry: int, length: int, reverse: bool,
    unroll: int, **params: Any,
) -> list[Any]:  # fmt: skip
    consts, rest = operands[:num_consts], operands[num_consts:]
    carry, xs = list(rest[:num_carry]), list(rest[num_carry:])
    if any(map(is_sparse, xs)):
        raise NotImplementedError(
            "sparsify: scan takes sparse arrays in its carry, but not to go along their first axis"
        )

    def sparse_scan_body(carry: list[Any], x: list[Any]) -> tuple[list[Any], list[Any]]:
        outs = evaluate_jaxpr(jaxpr, (*consts, *carry, *x))
        return outs[:num_carry], outs[num_carry:]

    carry, ys = scan(sparse_scan_body, carry, xs, length, reverse, unroll)
    return [*carry, *ys]


for _rules in BOTH:
    _rules[jit_p] = _jit
    _rules[custom_jvp_call_p] = _rules[custom_vjp_call_p] = _sparse_custom_call
    _rules[_primitive("cond")] = _cond
    _rules[_primitive("while")] = _while
    _rules[_primitive("scan")] = _sparse_scan
