"""Forward-mode differentiation: an interpreter that carries tangents along."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from glassjax_stage1.interpreter import set_interpreter
from glassjax_stage2.arguments import FlatFunction, require_function
from glassjax_stage2.errors import TangentTypeError, shown
from glassjax_stage2.functions import full_like
from glassjax_stage2.promotion import cast
from glassjax_stage2.shaped_array import ShapedArray, dialect, float0, typeof, typeof_named
from glassjax_stage2.source import name_of, on_behalf_of, user_source
from glassjax_stage2.tangent import Zero, check_out_tangent, instantiate, sum_of, tangent_type
from glassjax_stage2.trace import Params, Primitive, Rules, Trace, bind, bind1
from glassjax_stage2.tracer import PrimalTracer
from glassjax_stage2.tree import PyTreeDef, keystr, tree_flatten_with_path

jvp_rules = Rules("jvp", "jvp_rules")


class JVPTracer(PrimalTracer):
    """A primal with its tangent."""

    def __init__(self, trace: "JVPTrace", primal: Any, tangent: Any):
        self.interpreter = trace
        self.source = user_source()
        self.primal = primal
        self.tangent = tangent


class JVPTrace(Trace):
    """Pairs every value with its tangent.

    A value that is not one of this trace's tracers is a constant, with tangent `Zero`; results that
    depend only on constants are not boxed.
    """

    transformation = "jvp"
    tracer = JVPTracer
    rules = jvp_rules

    def process(self, primitive: Primitive, args: Sequence[Any], params: Params) -> list[Any]:
        primals, tangents = self.unbox(args)
        if all(type(tangent) is Zero for tangent in tangents):
            return self.leave_to_parent(primitive, args, params)  # type: ignore[no-any-return]
        with on_behalf_of(user_source()), set_interpreter(self.parent):
            outs, out_tangents = self.rules[primitive](primals, tangents, **params)
            for out, tangent in zip(outs, out_tangents, strict=True):
                check_out_tangent(primitive, tangent, out)
            return [self.box(x, t) for x, t in zip(outs, out_tangents, strict=True)]

    def box(self, primal: Any, tangent: Any) -> Any:
        return primal if type(tangent) is Zero else self.tracer(self, primal, tangent)

    def unbox(self, values: Iterable[Any]) -> tuple[list[Any], list[Any]]:
        """The primals of values, and their tangents."""
        primals, tangents = [], []
        for x in values:
            is_own = isinstance(x, JVPTracer) and x.interpreter is self
            primals.append(x.primal if is_own else x)
            tangents.append(x.tangent if is_own else Zero.like(x))
        return primals, tangents


def jvp_flat(
    f: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any], name: Any
) -> tuple[list[Any], list[Any]]:
    """`jvp` of a function of arrays that returns a list of arrays; tangents may be `Zero`.

    Arguments:
        f: function of arrays that returns a list of arrays.
        primals: its arguments.
        tangents: a tangent or `Zero` for each.
        name: the name of the function, for messages.

    >>> jvp_flat(lambda x, y: [x * y], [3.0, 2.0], [1.0, Zero.like(2.0)], "product")
    ([6.0], [2.0])
    """
    trace: JVPTrace = dialect().interpreter(JVPTrace)(name)
    with on_behalf_of(user_source()):  # found once for all arguments
        args = [trace.box(x, t) for x, t in zip(primals, tangents, strict=True)]
    with trace.run():
        outs = f(*args)
    return trace.unbox(outs)


def defjvp(
    primitive: Primitive, *contributions: Callable[..., Any] | None, jointly: bool = False
) -> None:
    """Define the jvp rule of a primitive with one result by one formula per operand.

    Arguments:
        primitive: the primitive.
        contributions: for each operand, a function `(t, out, *primals, **params)` that is linear in
            `t`, the tangent of that operand, and returns its contribution to the tangent of the
            result `out`. None, as the function or its result, means no contribution: the result
            does not depend smoothly on the operand.
        jointly: whether the primitive is linear in the operands with formulas together, as a sum
            is. If all of them have tangents, it is applied to these.

    >>> from glassjax_stage2 import jvp
    >>> cube_p = Primitive("cube")
    >>> impl_rules[cube_p] = lambda x: [x**3]
    >>> defjvp(cube_p, lambda t, out, x: t * 3 * x**2)
    >>> jvp(lambda x: bind(cube_p, x)[0], (2.0,), (1.0,))
    (8.0, 12.0)
    """

    def formula_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        out = bind1(primitive, *primals, **params)
        given = list(zip(contributions, tangents, primals, strict=True))
        held = [x if formula is None else t for formula, t, x in given]
        if jointly and not any(type(t) is Zero for t in held):
            return [out], [bind1(primitive, *held, **params)]
        varying = [(f, t) for f, t, _ in given if f is not None and type(t) is not Zero]
        terms = [formula(t, out, *primals, **params) for formula, t in varying]
        return [out], [sum_of([t for t in terms if t is not None], typeof(out), primals)]

    jvp_rules[primitive] = formula_jvp


def deflinear(primitive: Primitive) -> None:
    """Declare a primitive of one operand to be linear: its tangent is the primitive of the tangent.

    >>> from glassjax_stage2 import jvp
    >>> triple_p = Primitive("triple")
    >>> impl_rules[triple_p] = lambda x: [3 * x]
    >>> deflinear(triple_p)
    >>> jvp(lambda x: bind(triple_p, x)[0], (2.0,), (1.0,))
    (6.0, 3.0)
    """
    defjvp(primitive, lambda t, out, x, **params: bind1(primitive, t, **params))


def defzero(primitive: Primitive) -> None:
    """Declare a primitive to have no derivative: its result is piecewise constant.

    >>> from glassjax_stage2 import jvp
    >>> step_p = Primitive("step")
    >>> impl_rules[step_p] = lambda x: [float(x > 0)]
    >>> defzero(step_p)
    >>> jvp(lambda x: bind(step_p, x)[0], (2.0,), (1.0,))
    (1.0, 0.0)
    """

    def zero_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        outs = bind(primitive, *primals, **params)
        return outs, [Zero(tangent_type(typeof(out))) for out in outs]

    jvp_rules[primitive] = zero_jvp


def jvp(fun: Callable[..., Any], primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Evaluate `fun` and its derivative along a direction, in one forward pass.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        primals: a tuple or list with the arguments at which to evaluate.
        tangents: the direction, in a tuple or list of the same structure, shapes and dtypes.
            Integer and boolean arguments have tangents of dtype float0.

    Returns:
        The result of `fun` and its tangent, two pytrees of one structure.

    Raises:
        TypeError: structure, shape or dtype of `tangents` does not match `primals`.

    >>> from glassjax_stage2 import sin
    >>> jvp(lambda x: {"y": 2.0 * sin(x)}, (0.0,), (1.0,))
    ({'y': 0.0}, {'y': 2.0})
    """
    require_function("jvp", fun)
    for role, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple | list):
            raise TypeError(
                f"jvp: {role} must be a tuple or list, such as (x,); found {shown(given)}"
            )
    caller = f"jvp of `{name_of(fun)}`"
    paths_and_primals, in_tree = tree_flatten_with_path(tuple(primals))
    avals = [typeof_named(f"{caller}: primals{keystr(path)}", x) for path, x in paths_and_primals]
    flat_tangents = check_tangents(f"{caller}: tangents", in_tree, avals, tuple(tangents))
    flat_fun = FlatFunction(fun, in_tree)
    outs, out_tangents = jvp_flat(flat_fun, [x for _, x in paths_and_primals], flat_tangents, fun)
    unflatten = flat_fun.out_tree.unflatten
    return unflatten(outs), unflatten(map(instantiate, out_tangents))


def check_tangents(role: str, tree: PyTreeDef, avals: Sequence[Any], tangents: Any) -> list[Any]:
    """The leaves of tangents or cotangents of values of these types, in a tree of this structure.

    Raises:
        TreeMismatchError: their structure differs; the message calls them `role`.
        TangentTypeError: one of them does not have its type.
    """
    paths_and_avals, _ = tree_flatten_with_path(tree.unflatten(avals))
    leaves = tree.flatten_up_to(tangents, role)
    return [
        check_tangent(f"{role}{keystr(path)}", leaf, tangent_type(aval))
        for (path, aval), leaf in zip(paths_and_avals, leaves, strict=True)
    ]


def check_tangent(role: str, tangent: Any, expected: ShapedArray) -> Any:
    """A tangent or cotangent, if it has the expected type; a Python number takes that dtype.

    Raises:
        TangentTypeError: it has not; the message calls it `role`.
    """
    found = typeof_named(role, tangent)
    if found.shape == expected.shape:
        if found.dtype == expected.dtype:
            return Zero(expected) if expected.dtype == float0 else tangent
        if type(tangent) in (int, float) and expected.dtype != float0:
            return cast(tangent, expected)
    raise TangentTypeError(
        f"{role} must have type {expected}; found {found}. Tangents and cotangents have the shape "
        "and dtype of their value; for an integer give numpy.zeros(shape, float0), or make it a "
        "float."
    )


def deriv(fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The derivative of a function of one number, which can be differentiated again.

    At an array it is the derivative along the direction in which all elements grow at rate one.
    A Python int counts as a float.

    >>> deriv(lambda x: x * x * x)(2.0)
    12.0
    """
    require_function("deriv", fun)

    def derivative(x: Any) -> Any:
        x = float(x) if type(x) is int else x
        return jvp(fun, (x,), (full_like(x, 1),))[1]

    return derivative
