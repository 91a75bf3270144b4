"""JAX's programs evaluated by numpy: JAX says what is computed and in which types.

By day this takes the place of compilations in the test modules that `conftest.py` names, where it
takes less time. A primitive without a rule here, or with operands for which JAX alone decides, is
compiled by itself; a program of many such primitives, of large arrays, with effects, or for certain
devices, is compiled as ever.
"""

import contextlib
import functools
import warnings
import weakref
from typing import Any, NamedTuple

import jax
import numpy as np
import scipy.linalg
import scipy.special
from jax._src import pjit
from jax._src.sharding_impls import UnspecifiedValue

COMPILE = getattr(pjit, "_pjit_call_impl_python", None)
MOST_ITERATIONS = 500
MOST_ELEMENTS = 100_000
DTYPES = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128",
}  # fmt: skip


class TooLongError(Exception):
    """A loop of so many iterations takes less time when it is compiled."""


@contextlib.contextmanager
def evaluated_by_numpy():
    if COMPILE is None or jax.default_backend() != "cpu":  # another release; a GPU's numbers
        yield
        return
    pjit._pjit_call_impl_python = _run
    try:
        yield
    finally:
        pjit._pjit_call_impl_python = COMPILE


def _run(*args, jaxpr, **params):
    """Results of a compiled function; no executable, which JAX would keep for further calls."""
    if _is_for_any_device(args, **params) and _equations_of(jaxpr).are_cheap:
        types_in, types_out = ([var.aval for var in each] for each in _variables(jaxpr))
        given = [np.asarray(x, t.dtype) for x, t in zip(args, types_in, strict=True)]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(TooLongError):
                outs = evaluate(jaxpr, *given)
                return list(map(_to_jax, outs, types_out)), None, None, []
    return COMPILE(*args, jaxpr=jaxpr, **params)


def _is_for_any_device(
    args, *, in_shardings, out_shardings, donated_invars, ctx_mesh, compiler_options_kvs, **_
):
    return (
        all(isinstance(each, UnspecifiedValue) for each in (*in_shardings, *out_shardings))
        and not any(getattr(x, "committed", False) for x in args)
        and not any(donated_invars)
        and not compiler_options_kvs
        and ctx_mesh.empty
        and not jax.config.jax_debug_nans
        and not jax.config.jax_debug_infs
    )


def _to_jax(x, aval):
    array = jax.device_put(x)
    if not aval.weak_type:
        return array
    return type(array)(array.aval.update(weak_type=True), array.sharding, [array], False)


def _open(program):
    return getattr(program, "jaxpr", program)


def _variables(program):
    return _open(program).invars, _open(program).outvars


# Which programs


class Equations(NamedTuple):
    """Those of a program and of the programs in it."""

    known: int = 0
    others: frozenset[Any] = frozenset()  # primitives without a rule here, and their types
    are_plain: bool = True

    @property
    def are_cheap(self):
        """Whether there are few others: to compile each of them alone takes time, too."""
        return self.are_plain and 8 * len(self.others) <= self.known

    @classmethod
    def of_all(cls, parts):
        return cls(
            sum(part.known for part in parts),
            frozenset().union(*(part.others for part in parts)),
            all(part.are_plain for part in parts),
        )


NOT_PLAIN = Equations(are_plain=False)
COUNTED = weakref.WeakKeyDictionary()


def _equations_of(program):
    jaxpr = _open(program)
    if jaxpr not in COUNTED:
        operands = [*jaxpr.invars, *jaxpr.constvars, *jaxpr.outvars]
        is_plain = not jaxpr.effects and all(map(_is_small, operands))
        COUNTED[jaxpr] = Equations.of_all(
            list(map(_counted, jaxpr.eqns)) if is_plain else [NOT_PLAIN]
        )
    return COUNTED[jaxpr]


def _counted(equation):
    name, params = equation.primitive.name, equation.params
    operands = [*equation.invars, *equation.outvars]
    is_long = params.get("length", 0) > MOST_ITERATIONS
    if is_long or params.get("sharding") is not None or not all(map(_is_small, operands)):
        return NOT_PLAIN
    values = [each for x in params.values() for each in (x if isinstance(x, tuple) else (x,))]
    programs = [each for each in values if hasattr(each, "eqns")]
    if programs and name in OF_PROGRAMS:
        return Equations.of_all(list(map(_equations_of, programs)))
    if programs:
        return Equations(1) if name in RULES else NOT_PLAIN
    if name in RULES:
        return Equations(1)
    return Equations(0, frozenset([(name, *(str(x.aval) for x in operands))]))


def _is_small(x):
    dtype = getattr(x.aval, "dtype", None)
    return str(dtype) in DTYPES and x.aval.size <= MOST_ELEMENTS


# Evaluation


def evaluate(program, *args):
    """The results of a jaxpr, in arrays of the types that it says."""
    jaxpr = _open(program)
    consts = zip(jaxpr.constvars, getattr(program, "consts", ()), strict=True)
    values = {var: np.asarray(x, var.aval.dtype) for var, x in consts}
    values.update(zip(jaxpr.invars, args, strict=True))

    def value(x):
        return np.asarray(x.val, x.aval.dtype) if hasattr(x, "val") else values[x]

    for equation in jaxpr.eqns:
        outs = _outs(equation, [value(x) for x in equation.invars])
        for var, out in zip(equation.outvars, outs, strict=True):
            out = values[var] = np.asarray(out, var.aval.dtype)
            assert out.shape == var.aval.shape, (equation.primitive, out.shape, var.aval)
    return [value(x) for x in jaxpr.outvars]


def _outs(equation, given):
    primitive, params = equation.primitive, equation.params
    if primitive.name in OF_PROGRAMS:
        return OF_PROGRAMS[primitive.name](*given, **params)
    out = NotImplemented
    if primitive.name in RULES:
        types = [var.aval for var in equation.outvars]
        with contextlib.suppress(ArithmeticError, TypeError, ValueError):  # what numpy refuses
            out = RULES[primitive.name](types, *given, **params)
    if out is NotImplemented:
        given = [_to_jax(x, var.aval) for x, var in zip(given, equation.invars, strict=True)]
        pjit._pjit_call_impl_python = COMPILE
        try:
            out = primitive.bind(*given, **params)
        finally:
            pjit._pjit_call_impl_python = _run
    return out if primitive.multiple_results else [out]


# Primitives that hold programs


def _call(*args, **params):
    return evaluate(params.get("jaxpr") or params["call_jaxpr"], *args)


def _cond(which, *args, branches, **_):
    return evaluate(branches[np.clip(int(which), 0, len(branches) - 1)], *args)


def _while(*args, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts, **_):
    first = cond_nconsts + body_nconsts
    of_cond, of_body, carry = args[:cond_nconsts], args[cond_nconsts:first], args[first:]
    for _ in range(MOST_ITERATIONS):
        (goes_on,) = evaluate(cond_jaxpr, *of_cond, *carry)
        if not goes_on.any():
            return carry
        new = evaluate(body_jaxpr, *of_body, *carry)
        # Of several examples those that have ended stay as they are.
        masks = [goes_on.reshape(goes_on.shape + (1,) * (x.ndim - goes_on.ndim)) for x in new]
        carry = [np.where(mask, x, old) for mask, x, old in zip(masks, new, carry, strict=True)]
    raise TooLongError


def _scan(*args, jaxpr, length, reverse, **params):
    if "ft_in" in params:  # from JAX 0.12
        num_consts, num_carry, _ = map(len, params["ft_in"].unpack())
    else:
        num_consts, num_carry = params["num_consts"], params["num_carry"]
    consts, carry = args[:num_consts], args[num_consts : num_consts + num_carry]
    xs = args[num_consts + num_carry :]
    types = [var.aval for var in _open(jaxpr).outvars[num_carry:]]
    ys = [np.zeros((length, *t.shape), t.dtype) for t in types]
    for i in reversed(range(length)) if reverse else range(length):
        outs = evaluate(jaxpr, *consts, *carry, *[np.asarray(x[i]) for x in xs])
        carry = outs[:num_carry]
        for y, out in zip(ys, outs[num_carry:], strict=True):
            y[i] = out
    return [*carry, *ys]


CALLS = (
    "jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "checkpoint",
    "remat", "remat2",
)  # fmt: skip
OF_PROGRAMS = {**dict.fromkeys(CALLS, _call), "cond": _cond, "while": _while, "scan": _scan}


# Rules: of the types of the results, of arrays, and of parameters

RULES = {}


def rule(*names):
    def named(function):
        RULES.update(dict.fromkeys(names, function))
        return function

    return named


def _div(x, y):
    if x.dtype.kind not in "iu":
        return x / y
    safe = np.where(y == 0, 1, y)
    quotient = np.abs(x) // np.abs(safe) * (np.sign(x) * np.sign(safe))
    return np.where(y == 0, -1 if x.dtype.kind == "i" else np.iinfo(x.dtype).max, quotient)


def _rem(x, y):
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    return np.where(y == 0, x, np.fmod(x, np.where(y == 0, 1, y)))


def _sign(x):
    if x.dtype.kind != "c":
        return np.sign(x)
    return np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x)))


OF_ANY_NUMBERS = {
    "neg": np.negative, "sign": _sign, "is_finite": np.isfinite, "exp": np.exp, "log": np.log,
    "sin": np.sin, "cos": np.cos, "sqrt": np.sqrt, "square": np.square, "real": np.real,
    "imag": np.imag, "conj": np.conj, "abs": np.abs, "add": np.add, "add_any": np.add,
    "sub": np.subtract, "mul": np.multiply, "div": _div, "eq": np.equal, "ne": np.not_equal,
    "copy": np.asarray, "copy_p": np.asarray,
}  # fmt: skip
OF_REAL_NUMBERS = {
    "floor": np.floor, "ceil": np.ceil, "tanh": np.tanh, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "rsqrt": lambda x: 1 / np.sqrt(x),
    "logistic": lambda x: 1 / (1 + np.exp(-x)), "expm1": np.expm1, "log1p": np.log1p,
    "log2": np.log2, "exp2": np.exp2, "cbrt": np.cbrt, "not": np.invert, "atan2": np.arctan2,
    "rem": _rem, "max": np.maximum, "min": np.minimum, "pow": np.power, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "ge": np.greater_equal, "gt": np.greater,
    "le": np.less_equal, "lt": np.less, "nextafter": np.nextafter,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
}  # fmt: skip
SPECIAL = {
    "lgamma": scipy.special.gammaln, "digamma": scipy.special.digamma, "erf": scipy.special.erf,
    "erfc": scipy.special.erfc, "erf_inv": scipy.special.erfinv,
    "igamma": scipy.special.gammainc, "igammac": scipy.special.gammaincc,
    "regularized_incomplete_beta": scipy.special.betainc, "bessel_i0e": scipy.special.i0e,
    "bessel_i1e": scipy.special.i1e,
}  # fmt: skip


def _elementwise(function):
    return lambda types, *xs, **params: function(*xs)


def _of_real_numbers(function):
    """Which branch a function of complex numbers takes, JAX decides."""

    def of_real(types, *xs, **params):
        return NotImplemented if any(x.dtype.kind == "c" for x in xs) else function(*xs)

    return of_real


def _in_64_bits(function):
    return lambda types, *xs, **params: function(*(x.astype(np.float64) for x in xs))


RULES.update({name: _elementwise(f) for name, f in OF_ANY_NUMBERS.items()})
RULES.update({name: _of_real_numbers(f) for name, f in OF_REAL_NUMBERS.items()})
RULES.update({name: _in_64_bits(f) for name, f in SPECIAL.items()})


@rule("complex")
def _complex(types, x, y):
    out = np.empty(types[0].shape, types[0].dtype)
    out.real, out.imag = x, y
    return out


def _shifted(function):
    def shift(types, x, by):
        unsigned = np.dtype(f"u{x.dtype.itemsize}")
        is_inside = (by >= 0) & (by < 8 * x.dtype.itemsize)
        out = function(x.astype(unsigned), np.where(is_inside, by, 0).astype(unsigned))
        return np.where(is_inside, out, 0)

    return shift


RULES.update(shift_left=_shifted(np.left_shift), shift_right_logical=_shifted(np.right_shift))


@rule("integer_pow")
def _integer_pow(types, x, *, y):
    power = np.ones_like(x)
    for _ in range(abs(y)):
        power = power * x
    return power if y >= 0 else 1 / power


@rule("convert_element_type")
def _convert(types, x, **_):
    dtype = np.dtype(types[0].dtype)
    if dtype.kind in "iu" and x.dtype.kind not in "biu":
        wide, limits = x.astype(np.float64), np.iinfo(dtype)
        if not np.all((wide > limits.min - 1.0) & (wide < limits.max)):
            return NotImplemented
    return (x.real if x.dtype.kind == "c" != dtype.kind else x).astype(dtype)


@rule("select_n")
def _select(types, which, *cases):
    out = cases[0]
    for i, case in enumerate(cases[1:], 1):
        out = np.where(which == i, case, out)
    return out


@rule("broadcast_in_dim")
def _broadcast(types, x, *, shape, broadcast_dimensions, **_):
    kept = [1] * len(shape)
    for size, axis in zip(x.shape, broadcast_dimensions, strict=True):
        kept[axis] = size
    return np.broadcast_to(x.reshape(kept), shape)


@rule("reshape", "squeeze", "expand_dims")
def _reshape(types, x, *, dimensions=None, **_):
    x = x if dimensions is None or len(dimensions) < x.ndim else x.transpose(dimensions)
    return x.reshape(types[0].shape)


@rule("transpose")
def _transpose(types, x, *, permutation):
    return x.transpose(permutation)


@rule("concatenate")
def _concatenate(types, *xs, dimension):
    return np.concatenate(xs, dimension)


@rule("split")
def _split(types, x, *, sizes, axis):
    return np.split(x, np.cumsum(sizes)[:-1], axis)


@rule("stack")
def _stack(types, *xs, axis):
    return np.stack(xs, axis)


@rule("unstack")
def _unstack(types, x, *, axis):
    return list(np.moveaxis(x, axis, 0))


@rule("rev")
def _rev(types, x, *, dimensions):
    return np.flip(x, dimensions)


@rule("iota")
def _iota(types, *, dtype, shape, dimension, **_):
    others = [axis for axis in range(len(shape)) if axis != dimension]
    return np.broadcast_to(np.expand_dims(np.arange(shape[dimension]), others), shape)


@rule("empty", "empty2")
def _empty(types, **_):
    return np.zeros(types[0].shape)


@rule("platform_index")
def _platform_index(types, *, platforms):
    given = [i for i, names in enumerate(platforms) if names is not None and "cpu" in names]
    return given[0] if given else platforms.index(None)


@rule("optimization_barrier")
def _barrier(types, *xs):
    return xs


@rule("slice")
def _slice(types, x, *, start_indices, limit_indices, strides):
    return x[tuple(map(slice, start_indices, limit_indices, strides or [1] * x.ndim))]


@rule("pad")
def _pad(types, x, value, *, padding_config):
    low, high, between = zip(*padding_config, strict=True) if padding_config else ((), (), ())
    spread = [max(n + (n - 1) * k, 0) for n, k in zip(x.shape, between, strict=True)]
    out = np.full(spread, value)
    out[tuple(slice(None, None, k + 1) for k in between)] = x
    out = np.pad(out, [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)],
                 constant_values=value)  # fmt: skip
    ends = [n + min(b, 0) for n, b in zip(out.shape, high, strict=True)]
    return out[tuple(slice(max(-a, 0), end) for a, end in zip(low, ends, strict=True))]


def _window(starts, shape, sizes):
    limits = [n - size for n, size in zip(shape, sizes, strict=True)]
    clipped = [min(max(int(start), 0), limit) for start, limit in zip(starts, limits, strict=True)]
    return tuple(slice(start, start + size) for start, size in zip(clipped, sizes, strict=True))


@rule("dynamic_slice")
def _dynamic_slice(types, x, *starts, slice_sizes):
    return x[_window(starts, x.shape, slice_sizes)]


@rule("dynamic_update_slice")
def _dynamic_update_slice(types, x, update, *starts):
    out = x.copy()
    out[_window(starts, x.shape, update.shape)] = update
    return out


# Reductions


def _reduced(function):
    def reduction(types, x, *, axes, **_):
        wide = x.astype(np.float32) if types[0].dtype in ("float16", "bfloat16") else x
        return function.reduce(wide, axis=tuple(axes), dtype=wide.dtype)

    return reduction


def _accumulated(function):
    def cumulative(types, x, *, axis, reverse):
        x = np.flip(x, axis) if reverse else x
        out = function.accumulate(x, axis=axis, dtype=x.dtype)
        return np.flip(out, axis) if reverse else out

    return cumulative


def _place_of(function):
    def place(types, x, *, axes, **_):
        return function(x, axis=axes[0]) if x.dtype.kind in "biuf" else NotImplemented

    return place


RULES.update(
    reduce_sum=_reduced(np.add),
    reduce_prod=_reduced(np.multiply),
    reduce_max=_reduced(np.maximum),
    reduce_min=_reduced(np.minimum),
    reduce_and=_reduced(np.bitwise_and),
    reduce_or=_reduced(np.bitwise_or),
    reduce_xor=_reduced(np.bitwise_xor),
    cumsum=_accumulated(np.add),
    cumprod=_accumulated(np.multiply),
    cummax=_accumulated(np.maximum),
    cummin=_accumulated(np.minimum),
    argmax=_place_of(np.argmax),
    argmin=_place_of(np.argmin),
)


@rule("sort")
def _sort(types, *xs, dimension, num_keys, **_):
    if any(x.dtype.kind not in "biuf" for x in xs[:num_keys]):
        return NotImplemented
    keys = [np.moveaxis(np.where(x == 0, 0, x), dimension, -1) for x in xs[:num_keys]]
    order = np.moveaxis(np.lexsort(keys[::-1], axis=-1), -1, dimension)
    return [np.take_along_axis(x, order, dimension) for x in xs]


@rule("dot_general")
def _dot(types, x, y, *, dimension_numbers, **_):
    if x.dtype != y.dtype or x.dtype.itemsize < 4:
        return NotImplemented
    (of_x, of_y), (batch_x, batch_y) = dimension_numbers
    names_x, names_y = list(range(x.ndim)), list(range(x.ndim, x.ndim + y.ndim))
    for i, j in zip((*of_x, *batch_x), (*of_y, *batch_y), strict=True):
        names_y[j] = names_x[i]
    free_x = [n for i, n in enumerate(names_x) if i not in (*of_x, *batch_x)]
    free_y = [n for j, n in enumerate(names_y) if j not in (*of_y, *batch_y)]
    return np.einsum(x, names_x, y, names_y, [*(names_x[i] for i in batch_x), *free_x, *free_y])


# Gathered and scattered slices, one by one


def _starts(place, index, ndim, axes, batching_axes, batching_dims):
    """Where the slice begins that an index says, which stands at a place among the indices."""
    starts = [0] * ndim
    for axis, start in zip(axes, index, strict=True):
        starts[axis] = int(start)
    for axis, dim in zip(batching_axes, batching_dims, strict=True):
        starts[axis] = place[dim]
    return starts


def _is_inside(starts, shape, sizes):
    return all(0 <= s <= n - size for s, n, size in zip(starts, shape, sizes, strict=True))


def _slices_first(x, dims):
    """An array whose first axes are those of the indices, and then those of a slice."""
    axes = [axis for axis in range(x.ndim) if axis not in dims]
    return np.moveaxis(x, axes, range(len(axes)))


def _name_of(mode):
    return getattr(mode, "name", str(mode)).lower()


def _fill_of(dtype):
    if dtype.kind in "biu":
        return True if dtype.kind == "b" else np.iinfo(dtype).min or np.iinfo(dtype).max
    return np.nan


@rule("gather")
def _gather(types, x, indices, *, dimension_numbers, slice_sizes, mode, fill_value, **_):
    dims = dimension_numbers
    dropped = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)
    out = np.empty(types[0].shape, x.dtype)
    slices = _slices_first(out, dims.offset_dims)
    for place in np.ndindex(*indices.shape[:-1]):
        starts = _starts(
            place, indices[place], x.ndim, dims.start_index_map, dims.operand_batching_dims,
            dims.start_indices_batching_dims,
        )  # fmt: skip
        if _name_of(mode) == "fill_or_drop" and not _is_inside(starts, x.shape, slice_sizes):
            slices[place] = _fill_of(x.dtype) if fill_value is None else fill_value
        else:
            slices[place] = np.squeeze(x[_window(starts, x.shape, slice_sizes)], dropped)
    return out


def _scattered(combine):
    def scatter(types, x, indices, updates, *, dimension_numbers, mode, **_):
        dims = dimension_numbers
        dropped = (*dims.inserted_window_dims, *dims.operand_batching_dims)
        kept = iter(updates.shape[i] for i in dims.update_window_dims)
        sizes = [1 if i in dropped else next(kept) for i in range(x.ndim)]
        slices, out = _slices_first(updates, dims.update_window_dims), x.copy()
        for place in np.ndindex(*indices.shape[:-1]):
            starts = _starts(
                place, indices[place], x.ndim, dims.scatter_dims_to_operand_dims,
                dims.operand_batching_dims, dims.scatter_indices_batching_dims,
            )  # fmt: skip
            if _name_of(mode) == "clip" or _is_inside(starts, x.shape, sizes):
                window = _window(starts, x.shape, sizes)
                out[window] = combine(out[window], slices[place].reshape(sizes))
        return out

    return scatter


rule("scatter")(_scattered(lambda old, new: new))
rule("scatter-add", "scatter_add")(_scattered(np.add))
rule("scatter_mul")(_scattered(np.multiply))
rule("scatter_min")(_scattered(np.minimum))
rule("scatter_max")(_scattered(np.maximum))


# Matrices, of which numpy refuses what XLA makes NaN or infinities of


@rule("cholesky")
def _cholesky(types, x, **_):
    return np.linalg.cholesky(x) if x.dtype.itemsize > 2 and x.size else NotImplemented


@rule("triangular_solve")
def _triangular_solve(types, a, b, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
    if a.dtype.itemsize < 4:
        return NotImplemented
    solve = functools.partial(
        scipy.linalg.solve_triangular, lower=lower, unit_diagonal=unit_diagonal, check_finite=False
    )
    out = np.empty_like(b)
    for i in np.ndindex(*a.shape[:-2]):
        matrix = a[i].conj() if conjugate_a else a[i]
        if left_side:
            out[i] = solve(matrix, b[i], trans=int(transpose_a))
        else:
            out[i] = solve(matrix, b[i].T, trans=int(not transpose_a)).T
    return out
