"""Declaration of primitives, all columns at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, Protocol

import numpy as np

import glassjax_stage2 as stage2
import glassjax_stage3 as stage3
from glassjax.errors.arguments import require_fit
from glassjax.primitives import sparsity_rules
from glassjax.primitives.loops import calls as calls
from glassjax.primitives.narrow_numbers import converted, wide_dtype
from glassjax.primitives.sharding_rules import by_elements, by_reduction
from glassjax.runtime.array import Array, ArrayLike
from glassjax.runtime.nesting import note_composition
from glassjax.runtime.operation import KINDS, operation, require_kind
from glassjax.runtime.operation import Binary as Binary
from glassjax.runtime.operation import Unary as Unary
from glassjax.runtime.program import compile_primitive, run_program
from glassjax.runtime.templates import note_declaration
from glassjax.settings.names import counted
from glassjax.settings.number_types import (
    LibraryDialect,
    Settings,
    set_number_types,
    types_in_function,
)
from glassjax.settings.tracers import plain
from glassjax.shardings import types as sharded
from glassjax_stage2 import Primitive, ShapedArray, bind, bind1, promotion
from glassjax_stage2.arguments import require_function
from glassjax_stage2.errors import shown
from glassjax_stage2.functions import ints
from glassjax_stage2.shaped_array import Shape, float0
from glassjax_stage2.source import name_of
from glassjax_stage2.vmap import BatchAxis, BatchDim, move_batch_dim
from glassjax_stage2.vmap_rules import elementwise as vmap_elementwise
from glassjax_stage3 import Jaxpr, abstract_eval_rules
from glassjax_stage3.abstract_eval import arithmetic
from glassjax_stage3.lowering_rules import elementwise as lower_elementwise
from glassjax_stage3.staging import trace_to_jaxpr
from glassjax_stage4 import deftranspose, transpose_rules
from glassjax_stage4.stop_gradient import stop_gradient_p

# Constant arrays in the text of a program.


def array_text(value: Any) -> str:
    """The MLIR text of an array's elements and type: bytes, except for booleans."""
    aval = ShapedArray(value.shape, value.dtype)
    if value.size == 0:
        elements = ""
    elif value.dtype == float0:
        elements = "false"
    elif value.dtype.kind == "b":
        elements = str(value.tolist()).lower()
    else:
        elements = f'"0x{value.astype(value.dtype.newbyteorder("<")).tobytes().hex()}"'
    return f"dense<{elements}> : {stage3.lowering.mlir_type(aval)}"


def lower_array(b: stage3.lowering.FunctionBuilder, value: Any) -> stage3.lowering.Value:
    """Write the constant `value`, an array of numpy."""
    aval = ShapedArray(value.shape, value.dtype)
    (out,) = b.emit(f"stablehlo.constant {array_text(value)}", aval)
    return out


# Primitives that decompose into other primitives.
#
# In differentiation such a primitive is one step, with a better derivative than its program would
# give; XLA sees the program.


Rule = Callable[..., Any]

# For lowering rules that lower a function of other primitives, this function: it takes operands and
# parameters, and returns a list of results.
decompositions: dict[Rule, Callable[..., Sequence[Any]]] = {}


def decomposition_of(primitive: Primitive) -> Callable[..., Sequence[Any]] | None:
    """The decomposition of `primitive` into other primitives, or None."""
    rule = stage3.lowering.lowering_rules.get(primitive)
    return None if rule is None else decompositions.get(rule)


def results_of(function: Callable[..., Any]) -> Callable[..., list[Any]]:
    """`function`, with its result or tuple of results as a list."""

    def listed(*operands: Any, **params: Any) -> list[Any]:
        out = function(*operands, **params)
        return list(out) if isinstance(out, tuple | list) else [out]

    return listed


def _program(
    function: Callable[..., Sequence[Any]], avals: Sequence[ShapedArray], params: dict[str, Any]
) -> Jaxpr:
    def listed_fun(*operands: Any) -> Sequence[Any]:
        out = function(*operands, **params)
        if not isinstance(out, list | tuple):
            raise TypeError(
                f"a function that a primitive computes must return a list of results, found "
                f"{shown(out)} returned by `{name_of(function)}`"
            )
        return out

    avals = [plain(aval) for aval in avals]
    for aval in avals:
        if not isinstance(aval, ShapedArray):
            raise TypeError(
                f"the rule of a primitive takes types, such as typeof(x), found {shown(aval)} "
                f"for an operand of `{name_of(function)}`"
            )

    with set_number_types(types_in_function().in_function):  # no user arguments to check
        return trace_to_jaxpr(listed_fun, avals, "staging", function)


def type_on_device(aval: ShapedArray) -> Any:
    """The type without the axes along which it varies; in a program of one device nothing varies.

    Only a device index keeps them, for collectives; and parts that are to be summed are parts.
    """
    keeps = getattr(aval, "axis", None) is not None or sharded.reduction_of(aval).unreduced
    return aval if keeps else getattr(aval, "plain", aval)


def types_by(function: Callable[..., Sequence[Any]]) -> Rule:
    """The abstract evaluation rule of a primitive that computes `function`.

    >>> types_by(lambda x, *, times: [x * times])(glassjax.typeof(jnp.ones(3)), times=2)
    [ShapedArray(f32[3])]
    """

    def function_type(*avals: ShapedArray, **params: Any) -> list[ShapedArray]:
        return _program(function, avals, params).out_avals

    return function_type


def lower_by(function: Callable[..., Sequence[Any]]) -> Rule:
    """The lowering rule of a primitive that computes `function`, a function of arrays.

    Arguments:
        function: takes the operands and parameters, and returns a list of results.

    >>> from glassjax import core
    >>> cube_p = core.Primitive("cube")
    >>> def cube(x):
    ...     return [x * x * x]
    >>> core.declare(cube_p, abstract_eval=core.types_by(cube), lower=core.lower_by(cube))
    >>> core.bind(cube_p, jnp.array([1.0, 2.0]))
    [Array([1., 8.], dtype=float32)]
    """

    def text_lower(
        b: stage3.lowering.FunctionBuilder,
        out_avals: Sequence[ShapedArray],
        *operands: stage3.lowering.Value,
        **params: Any,
    ) -> list[stage3.lowering.Value]:
        closed = _program(function, [type_on_device(x.aval) for x in operands], params)
        location = b.location
        typed = zip(closed.consts, closed.constvars, strict=True)  # numpy's may have 64 bits
        consts = [lower_array(b, np.asarray(const, var.aval.dtype)) for const, var in typed]
        outs = b.lower_jaxpr(closed, [*consts, *operands])
        # the equations of the program have moved it
        b.location = location
        return outs

    decompositions[text_lower] = function
    return text_lower


def leading_batch(primitive: Primitive) -> Rule:
    """The vmap rule of a primitive whose operands may share leading batch axes.

    >>> import numpy as np
    >>> from glassjax import core
    >>> inverse_p = core.Primitive("inverse")
    >>> core.impl_rules[inverse_p] = lambda x: [np.linalg.inv(x)]
    >>> matrices = np.ones((3, 3, 5)) + np.eye(3)[:, :, None]
    >>> (out,), dims = core.leading_batch(inverse_p)(5, [matrices], [2])
    >>> out.shape, dims
    ((5, 3, 3), [0])
    """

    def leading_vmap(
        axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], /, **params: Any
    ) -> tuple[list[Any], list[BatchDim]]:
        moved = [move_batch_dim(x, axis, dim, 0) for x, dim in zip(values, dims, strict=True)]
        outs = bind(primitive, *moved, **params)
        return outs, [0] * len(outs)

    return leading_vmap


# Declaration of a primitive, with all its rules at once.
#
# The stages have one table of rules for each interpreter, and fill it column by column. Here a
# primitive is a row: `declare` enters it in every table, and the factories `unary`, `binary` and
# `reduction` provide the rules that similar rows share. A factory returns the function for users.
#
# In a jvp formula `t` is the tangent of that operand and `out` the result; in a transpose formula
# `ct` is the cotangent of the result.


Formula = Callable[..., Any]

# Primitives whose results never have tangents.
piecewise_constant = {stop_gradient_p}


class Reduction(Protocol):
    """A reduction of an array; only some reductions have the parameter `out_sharding`."""

    def __call__(
        self, operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None
    ) -> Array: ...


def declare(
    primitive: Primitive,
    *,
    abstract_eval: Rule,
    lower: Rule,
    vmap: Rule | None = None,
    sharding: sharded.ShardingRule | None = None,
    reduction: sharded.ReductionRule | None = None,
    sparsity: sparsity_rules.SparsityRule | None = None,
    jvp: Sequence[Formula | None] | Rule = (),
    transpose: Sequence[Formula | None] | Rule = (),
    jointly: bool = False,
) -> None:
    """Enter a primitive of one result in the table of every interpreter.

    If the number of operands varies, `jvp` and `transpose` are rules instead of formulas.

    Arguments:
        primitive: the primitive.
        abstract_eval: function from the types of operands to the list of types of results.
        lower: the lowering rule, which evaluation uses, too.
        vmap: function `(axis, values, dims, **params)` from a `BatchAxis`, operands and their batch
            axes to results and their batch axes. A primitive without operands needs none.
        sharding: function from the types of operands and results and the parameters to the mesh
            axes of each result, as in `glassjax.primitives.sharding_rules`. Without it, operands
            with shardings in their types are an error.
        reduction: function from the primitive, the types and states of operands and the parameters
            to the mesh axes over which results are unreduced or reduced, as in
            `glassjax.primitives.reduction_rules`. Without it, unreduced operands are an error.
        sparsity: function from operands to the inputs that each element of the results depends on,
            as in `glassjax.primitives.sparsity_rules`. Without it, every element of the results
            depends on every element of the operands.
        jvp: a formula for each operand, as for `defjvp`. If empty, the result is piecewise
            constant, and its tangent zero.
        transpose: a formula for each operand, as for `deftranspose`. If empty, the primitive is not
            linear in any operand, and has no transpose.
        jointly: whether it is linear in its operands together, as a sum is, and not only in each of
            them separately, as a product is.

    Raises:
        TypeError: `jvp` or `transpose` is neither a rule nor formulas.

    >>> from glassjax.core import Primitive, bind, declare
    >>> halve_p = Primitive("halve")
    >>> def lower(b, out_avals, x):
    ...     half = b.constant(0.5, x.aval)
    ...     kind = f"tensor<{x.aval.size}xf32>"
    ...     return b.emit(f"stablehlo.multiply {x.name}, {half.name} : {kind}", *out_avals)
    >>> declare(
    ...     halve_p,
    ...     abstract_eval=lambda x: [x],
    ...     lower=lower,
    ...     jvp=[lambda t, out, x: bind(halve_p, t)[0]],
    ...     transpose=[lambda ct, x: bind(halve_p, ct)[0]],
    ... )
    >>> glassjax.jit(lambda x: bind(halve_p, x)[0])(jnp.array([1.0, 3.0]))
    Array([0.5, 1.5], dtype=float32)
    >>> glassjax.grad(lambda x: bind(halve_p, x)[0][0])(jnp.array([1.0, 3.0]))
    Array([0.5, 0. ], dtype=float32)
    """
    formulas = (("jvp", jvp), ("transpose", transpose))
    for name, given in formulas:
        if not (given is None or callable(given) or isinstance(given, Sequence)):
            raise TypeError(
                f"declare: {name} must be a rule, or a formula for each operand, found "
                f"{shown(given)}"
            )
    stage2.impl_rules[primitive] = _through_xla(primitive)
    note_declaration(primitive)
    abstract_eval_rules[primitive] = abstract_eval
    stage3.lowering.lowering_rules[primitive] = lower
    if vmap is not None:
        stage2.vmap_rules[primitive] = vmap
    if sharding is not None:
        sharded.sharding_rules[primitive] = sharding
    if reduction is not None:
        sharded.reduction_rules[primitive] = reduction
    if sparsity is None and lower in decompositions:
        sparsity = sparsity_rules.by_decomposition(primitive.name, decompositions[lower])
    if sparsity is not None:
        sparsity_rules.sparsity_rules[primitive] = sparsity
    if callable(jvp):
        stage2.jvp_rules[primitive] = jvp
    elif jvp:
        stage2.defjvp(primitive, *jvp, jointly=jointly)
    else:
        stage2.defzero(primitive)
        piecewise_constant.add(primitive)
    if callable(transpose):
        transpose_rules[primitive] = transpose
    elif transpose:
        deftranspose(primitive, *transpose, jointly=jointly)


def _through_xla(primitive: Primitive) -> Rule:
    def compiled_impl(*operands: Any, **params: Any) -> list[Any]:
        in_avals = tuple(map(stage2.typeof, operands))
        return list(run_program(compile_primitive(primitive, in_avals, params), operands))

    return compiled_impl


def unary(
    name: str,
    doc: str,
    *,
    hlo: str | Rule,
    kinds: str = "fc",
    result: Callable[[np.dtype[Any]], Any] | None = None,
    jvp: Formula | None = None,
) -> Unary:
    """Declare an elementwise primitive of one operand.

    Arguments:
        name: the name of the primitive and of the function returned.
        doc: the docstring of that function.
        hlo: the operation of StableHLO, or of CHLO if it begins with `chlo.`; or a lowering rule.
        kinds: the kinds of dtypes that it accepts: b(ool), i(nt), u(nsigned), f(loat), c(omplex).
            The function rejects others; `glassjax.core.unary` makes one that converts integers.
        result: function from the operand's dtype to the result's, if they differ.
        jvp: the formula `(t, out, x)` of its tangent, if it has a derivative.

    >>> from glassjax.core import unary
    >>> root = unary("root", "The square root.", hlo="sqrt", jvp=lambda t, out, x: t / (2 * out))
    >>> glassjax.value_and_grad(root)(jnp.float32(4))
    (Array(2., dtype=float32), Array(0.25, dtype=float32))
    """
    _require_kinds("unary", kinds)
    require_fit("unary", "result", result, Callable[..., Any] | None)
    primitive = Primitive(name)

    def unary_type(x: ShapedArray) -> list[ShapedArray]:
        require_kind(name, kinds, x)
        return [x if result is None else ShapedArray(x.shape, result(x.dtype), x.weak_type)]

    declare(
        primitive,
        abstract_eval=unary_type,
        lower=_elementwise_lower(primitive, hlo, keeps_type=result is None),
        vmap=vmap_elementwise(primitive),
        sharding=by_elements(primitive),
        sparsity=sparsity_rules.by_elements,
        jvp=() if jvp is None else (jvp,),
    )

    def unary_function(x: ArrayLike) -> Array:
        return bind1(primitive, x)

    return operation(_named_function(unary_function, name, doc))


def binary(
    name: str,
    doc: str,
    *,
    hlo: str | Rule,
    kinds: str = "iufc",
    jvp: Sequence[Formula | None] = (),
    transpose: Sequence[Formula | None] = (),
    jointly: bool = False,
) -> Binary:
    """Declare an elementwise primitive of two operands.

    The function requires operands of one dtype; `glassjax.core.binary` makes one that promotes.

    Arguments:
        name, doc, hlo, kinds: as in `unary`.
        jvp: the formulas `(t, out, x, y)` of its tangent, one for each operand.
        transpose: the formulas of its transpose, one for each operand.
        jointly: as in `declare`.

    >>> from glassjax.core import binary
    >>> larger = binary("larger", "The larger of two numbers.", hlo="maximum")
    >>> larger(jnp.array([1, 5]), 3)
    Array([3, 5], dtype=int32)
    """
    _require_kinds("binary", kinds)
    primitive = Primitive(name)
    type_of_result = arithmetic(primitive)

    def binary_type(x: ShapedArray, y: ShapedArray) -> list[ShapedArray]:
        require_kind(name, kinds, x, y)
        return type_of_result(x, y)

    declare(
        primitive,
        abstract_eval=binary_type,
        lower=_elementwise_lower(primitive, hlo),
        vmap=vmap_elementwise(primitive),
        sharding=by_elements(primitive),
        sparsity=sparsity_rules.by_elements,
        jvp=jvp,
        transpose=transpose,
        jointly=jointly,
    )

    def binary_function(x: ArrayLike, y: ArrayLike) -> Array:
        return bind1(primitive, *promotion.promote(x, y))

    return operation(kinds=kinds)(_named_function(binary_function, name, doc))


def reduction(
    name: str,
    doc: str,
    *,
    hlo: str | Rule,
    init: Callable[[np.dtype[Any]], Any],
    kinds: str,
    jvp: Formula | None = None,
    has_out_sharding: bool = False,
) -> Callable[..., Any]:
    """Declare a primitive that combines the elements along some axes.

    The function returned takes an array and the axes.

    Arguments:
        name, doc: as in `unary`.
        hlo: the operation of StableHLO that combines two elements, or a lowering rule.
        init: function from a dtype to the neutral element.
        kinds: as in `unary`.
        jvp: the formula `(t, out, x, *, axes)` of its tangent, if it has a derivative.
        has_out_sharding: whether the returned function also takes `out_sharding`, the sharding of
            the result over mesh axes of type `Explicit`.

    >>> from glassjax.core import reduction
    >>> bits = reduction("bits", "All bits.", hlo="or", init=lambda dtype: 0, kinds="bi")
    >>> bits(jnp.array([[1, 2], [4, 5]]), [0])
    Array([5, 7], dtype=int32)
    """
    _require_kinds("reduction", kinds)
    require_function("reduction: init", init)
    primitive = Primitive(name)

    def reduction_type(x: ShapedArray, *, axes: Shape) -> list[ShapedArray]:
        require_kind(name, kinds, x)
        if not all(0 <= axis < x.ndim for axis in axes) or len(set(axes)) != len(axes):
            raise ValueError(f"{name}: axes {axes} are not distinct axes of {x}")
        shape = tuple(n for i, n in enumerate(x.shape) if i not in axes)
        return [ShapedArray(shape, x.dtype, x.weak_type and "f" in kinds)]

    def reduction_vmap(
        batch_axis: BatchAxis, values: Sequence[Any], dims: Sequence[BatchDim], *, axes: Shape
    ) -> tuple[list[Any], list[BatchDim]]:
        x = move_batch_dim(values[0], batch_axis, dims[0], 0)
        return [bind1(primitive, x, axes=tuple(axis + 1 for axis in axes))], [0]

    declare(
        primitive,
        abstract_eval=reduction_type,
        lower=_checked_lower(hlo) if callable(hlo) else lower_reduction(hlo, init),
        vmap=reduction_vmap,
        sharding=by_reduction(primitive, "axes"),
        sparsity=sparsity_rules.by_reduction("axes"),
        jvp=() if jvp is None else (jvp,),
    )

    def reduction_function(operand: ArrayLike, axes: Sequence[int]) -> Array:
        return bind1(primitive, operand, axes=ints(f"{name}: axes", tuple(axes)))

    # `operation` applies out_sharding; the parameter is here for the signature.
    def with_out_sharding(
        operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None
    ) -> Array:
        return reduction_function(operand, axes)

    if has_out_sharding:
        return operation(static=("axes", "out_sharding"))(
            _named_function(with_out_sharding, name, doc)
        )
    return operation(static="axes")(_named_function(reduction_function, name, doc))


def lower_reduction(operation: str, init: Callable[[np.dtype[Any]], Any]) -> Rule:
    """The lowering rule of a reduction with a StableHLO operation, starting from `init`."""

    def reduction_lower(
        b: stage3.lowering.FunctionBuilder,
        out_avals: Sequence[ShapedArray],
        x: stage3.lowering.Value,
        *,
        axes: Shape,
    ) -> list[stage3.lowering.Value]:
        (out,) = out_avals
        wide = out.update(dtype=wide_dtype(out.dtype))
        x = converted(b, x, wide.dtype)
        start = b.constant(init(out.dtype), ShapedArray((), wide.dtype))
        (reduced,) = b.emit(
            f"stablehlo.reduce({x.name} init: {start.name}) applies stablehlo.{operation} "
            f"across dimensions = {list(axes)} : "
            f"{stage3.lowering.signature([x, start], [wide])}",
            wide,
        )
        return [converted(b, reduced, out.dtype)]

    return reduction_lower


def lower_by_types(operation: str) -> Rule:
    """The rule of an elementwise primitive whose operands and result may differ in dtype."""

    def types_lower(
        b: stage3.lowering.FunctionBuilder,
        out_avals: Sequence[ShapedArray],
        *operands: stage3.lowering.Value,
    ) -> list[stage3.lowering.Value]:
        (out,) = out_avals
        operands = tuple(b.broadcast(x, out.shape) for x in operands)
        names = ", ".join(x.name for x in operands)
        return b.emit(
            f"stablehlo.{operation} {names} : {stage3.lowering.signature(operands, out_avals)}", out
        )

    return types_lower


def _chlo_lower(operation: str) -> Rule:
    def chlo_lower(
        b: stage3.lowering.FunctionBuilder,
        out_avals: Sequence[ShapedArray],
        *operands: stage3.lowering.Value,
    ) -> list[stage3.lowering.Value]:
        (out,) = out_avals
        names = ", ".join(b.broadcast(x, out.shape).name for x in operands)
        types = ", ".join([stage3.lowering.mlir_type(out)] * len(operands))
        return b.emit(f"{operation} {names} : {types} -> {stage3.lowering.mlir_type(out)}", out)

    return chlo_lower


_LONG = 40  # equations
_NUMBERS_OF_64_BITS = LibraryDialect(Settings(enable_x64=True))


def with_64_bits(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with numbers of 64 bits inside, whatever the settings."""

    @wraps(function)
    def wide(*operands: Any) -> Any:
        with set_number_types(_NUMBERS_OF_64_BITS):
            return function(*operands)

    return wide


def lower_by_primitives(function: Callable[..., Any]) -> Rule:
    """The lowering rule of an elementwise primitive that decomposes into other primitives.

    The only constants of the function are scalars. They have 64 bits, whatever the settings, and
    are converted to the width of the operands. A long program becomes a function of the module,
    shared by all equations of the primitive.
    """

    @lru_cache(maxsize=128)
    def primitives_program(in_avals: tuple[ShapedArray, ...]) -> Jaxpr:
        with set_number_types(_NUMBERS_OF_64_BITS):
            return trace_to_jaxpr(lambda *xs: [function(*xs)], in_avals, "lowering", None)

    def primitives_lower(
        b: stage3.lowering.FunctionBuilder,
        out_avals: Sequence[ShapedArray],
        *operands: stage3.lowering.Value,
    ) -> list[stage3.lowering.Value]:
        (out,) = out_avals
        broadcast = [b.broadcast(x, out.shape) for x in operands]
        jaxpr = primitives_program(
            tuple(type_on_device(x.aval).strip_weak_type() for x in broadcast)
        )
        if len(jaxpr.eqns) <= _LONG or any(type(x.aval) is not ShapedArray for x in broadcast):
            return b.lower_jaxpr(jaxpr, broadcast)
        name = b.module.private_function(jaxpr, function.__name__.strip("_"))
        names = ", ".join(x.name for x in broadcast)
        return b.emit(
            f"func.call @{name}({names}) : {stage3.lowering.signature(broadcast, out_avals)}", out
        )

    decompositions[primitives_lower] = results_of(function)
    return primitives_lower


def _elementwise_lower(primitive: Primitive, hlo: str | Rule, keeps_type: bool = True) -> Rule:
    if callable(hlo):
        if hlo in decompositions:
            note_composition(primitive)
            return hlo
        return _checked_lower(hlo)
    if not isinstance(hlo, str):
        raise TypeError(f"hlo must be the name of an operation, or a rule, found {shown(hlo)}")
    if hlo.startswith("chlo."):
        return _chlo_lower(hlo)
    return lower_elementwise(hlo) if keeps_type else lower_by_types(hlo)


def _checked_lower(rule: Rule) -> Rule:
    """A lowering rule, after checking that it returns one value for each result."""

    def checked_lower(
        b: stage3.lowering.FunctionBuilder,
        out_avals: Sequence[ShapedArray],
        *args: Any,
        **params: Any,
    ) -> Any:
        values = rule(b, out_avals, *args, **params)
        if not isinstance(values, Sequence) or len(values) != len(out_avals):
            raise TypeError(
                f"hlo: expected a rule that returns {counted(len(out_avals), 'value')}, found "
                f"{shown(values)} returned by `{name_of(rule)}`"
            )
        return values

    return checked_lower


def no_derivative(name: str, operand: str) -> Formula:
    """The formula of an operand without a derivative."""

    def raise_no_derivative(*args: Any, **params: Any) -> Any:
        raise NotImplementedError(
            f"{name}: there is no formula for its derivative by {operand}; hold that constant by "
            "lax.stop_gradient"
        )

    return raise_no_derivative


def _require_kinds(caller: str, kinds: Any) -> None:
    if not isinstance(kinds, str) or not {*kinds} <= {*KINDS}:
        raise ValueError(
            f"{caller}: kinds must be some of the letters {''.join(KINDS)!r}, found {shown(kinds)}"
        )


def _named_function(function: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    """`function` as if defined in the module that calls `unary`, `binary` or `reduction`."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = sys._getframe(2).f_globals.get("__name__", __name__)
    function.__doc__ = doc
    return function
