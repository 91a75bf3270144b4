"""The primitives under the names of `jax.lax`, such as `add_p`."""

from collections.abc import Callable, Container, Iterable, Sequence
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from glassjax import lax
from glassjax.lax import linalg
from glassjax.primitives.declare import declare, lower_by, results_of, types_by
from glassjax.primitives.sharding_rules import by_types
from glassjax_stage2 import Primitive, bind1, typeof
from glassjax_stage2.jvp import jvp_flat
from glassjax_stage2.shaped_array import is_inexact
from glassjax_stage2.vmap import BatchAxis, vmap_flat
from glassjax_stage3 import abstract_eval_rules
from glassjax_stage3.jaxpr import consts_as_invars
from glassjax_stage3.staging import trace_to_jaxpr
from glassjax_stage4 import cond_p
from glassjax_stage4.transpose import UndefPrimal, backward_pass

# Primitives by name: `add` applies `add_p`.


def all_primitives() -> list[Primitive]:
    """The primitives of the library, whose rooms are imported for that."""
    for facade in ("", ".lax", ".lax.linalg", ".nn", ".numpy", ".random", ".scipy.special"):
        for module, _ in import_module(f"glassjax{facade}").__places__.values():
            import_module(module)
    for name in ("debug", "export.call", "experimental.pallas.pallas_call"):
        import_module(f"glassjax.{name}")
    return list(abstract_eval_rules)


def primitive_named(module: str, name: str, among: Container[str] | None = None) -> Primitive:
    """The primitive for the attribute `name` of a module, which ends in `_p`.

    Arguments:
        module: the name of the module.
        name: the name of the attribute.
        among: the names of the primitives to look among; by default all.

    Raises:
        AttributeError: there is none.
    """
    own_name = name.removesuffix("_p")
    if name.endswith("_p") and (among is None or own_name in among):
        primitive = _primitive_by_name(abstract_eval_rules, own_name) or _primitive_by_name(
            all_primitives(), own_name
        )
        if primitive is not None:
            return primitive

        if own_name in FUNCTIONS:
            return composite(own_name, FUNCTIONS[own_name])
        if own_name in INLINED:
            return inlined(own_name, INLINED[own_name])
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


_ATTRIBUTES = {"custom_linear_solve": "linear_solve", "remat2": "checkpoint"}


def attribute_of(primitive: Primitive) -> str:
    """The name of a primitive in Python, without `_p`: `scatter_add` for `scatter-add`."""
    return _ATTRIBUTES.get(primitive.name, primitive.name.replace("-", "_"))


def _primitive_by_name(primitives: Iterable[Primitive], name: str) -> Primitive | None:
    for primitive in primitives:
        # Stage 4 also has a `cond`, of two branches; the name means the library's, of any number.
        if attribute_of(primitive) == name and primitive is not cond_p:
            return primitive
    return None


def primitive_of_linalg(module: str, name: str) -> Primitive:
    """The primitive of a function of `lax.linalg` for an attribute of that module."""
    return primitive_named(module, name, among=import_module("glassjax.lax.linalg").__places__)


# Primitives of JAX that are functions here: their names, for programs that bind them.
#
# No function of this library writes them into a program. Bound, each is one equation, which
# interpreters evaluate by its function.


def composite(
    name: str, function: Callable[..., Any], linear: Sequence[bool] | None = ()
) -> Primitive:
    """A primitive that computes a function of arrays.

    Arguments:
        name: its name.
        function: takes the operands, and the parameters by keyword.
        linear: for each operand whether its one result is linear in that alone, so that its
            derivative is the primitive again. If empty, the derivative is that of the function. If
            None, that is not linear in any operand, and has no transpose.
    """
    primitive = Primitive(name)
    results = results_of(function)

    def along(i: int) -> Callable[..., Any]:
        def tangent_formula(t: Any, out: Any, *operands: Any, **params: Any) -> Any:
            return bind1(primitive, *operands[:i], t, *operands[i + 1 :], **params)

        return tangent_formula

    def composite_vmap(
        axis: BatchAxis, values: Sequence[Any], dims: Sequence[Any], /, **params: Any
    ) -> Any:
        f = partial(results, **params)
        return vmap_flat(f, values, dims, axis, function)

    def composite_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return jvp_flat(partial(results, **params), primals, tangents, function)

    def composite_transpose(cts: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
        avals = [x.aval if isinstance(x, UndefPrimal) else typeof(x) for x in operands]
        closed = trace_to_jaxpr(partial(results, **params), avals, "transposition", function)
        program = consts_as_invars(closed)
        return backward_pass(program, [*closed.consts, *operands], cts)[len(closed.consts) :]

    types = types_by(results)
    declare(
        primitive,
        abstract_eval=types,
        lower=lower_by(results),
        vmap=composite_vmap,
        sharding=by_types(types),
        jvp=[along(i) if each else None for i, each in enumerate(linear)]
        if linear
        else composite_jvp,
        transpose=() if linear is None else composite_transpose,
    )
    return primitive


@lru_cache
def inlined(name: str, function: Callable[..., Any]) -> Primitive:
    """A primitive whose `bind` calls a function: programs contain the function's equations."""
    primitive: Any = Primitive(name)
    primitive.bind = function
    named: Primitive = primitive
    return named


def _squeeze(x: Any, *, dimensions: Sequence[int]) -> Any:
    return lax.squeeze(x, dimensions)


def _approx_top_k(
    x: Any, *, k: int, is_max_k: bool, reduction_dimension: int = -1, **params: Any
) -> list[Any]:
    function = lax.approx_max_k if is_max_k else lax.approx_min_k
    return function(x, k, reduction_dimension, **params)


def _total_order(x: Any) -> Any:
    """Integers in the order of numbers in which -NaN < -inf, -0 < +0 and inf < NaN."""
    dtype = typeof(x).dtype
    if not is_inexact(dtype):
        return x
    if dtype.kind == "c":
        raise TypeError(f"a total order is one of real numbers, found {typeof(x)}")
    signed = np.dtype(f"int{8 * dtype.itemsize}")
    bits = lax.bitcast_convert_type(x, signed)
    return lax.select(bits < 0, bits ^ np.iinfo(signed).max, bits)


def _in_total_order(compare: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: compare(_total_order(x), _total_order(y))


def _scatter_sub(operand: Any, indices: Any, updates: Any, **params: Any) -> Any:
    numbers, rest = params.pop("dimension_numbers"), dict(params)
    for program in ("update_jaxpr", "update_consts"):
        rest.pop(program, None)
    return lax.scatter_sub(operand, indices, updates, numbers, **rest)


# Functions by the name of their primitive.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "approx_top_k": _approx_top_k,
    "cholesky_update": lambda r, w: linalg.cholesky_update(r, w),
    "empty2": lambda *, dtype, memory_space=None: lax.full((), 0, dtype),
    "eq_to": _in_total_order(lax.eq),
    "le_to": _in_total_order(lax.le),
    "lt_to": _in_total_order(lax.lt),
    "scatter_sub": _scatter_sub,
    "square": lambda x: lax.square(x),
    "squeeze": _squeeze,
    "stage": lambda x: lax.reshape(x, typeof(x).shape),
    "symmetric_product": lambda a, c, **params: linalg.symmetric_product(a, c, **params),
}

# Functions that depend on named axes or refs in context, so one equation cannot stand for them.
INLINED: dict[str, Callable[..., Any]] = {"ragged_all_to_all": lax.ragged_all_to_all}
