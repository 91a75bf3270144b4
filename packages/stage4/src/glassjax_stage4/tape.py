"""The other road to reverse mode: a tape.

`grad` stages the derivative as a program and transposes it. A tape does both at once: while the
function runs, it records for every result how to send a cotangent back to the operands. Playing the
records in reverse order gives the gradient. It needs only stage 2, but leaves no program to print,
compile or reuse.
"""

# ruff: noqa: F403, F405
from collections.abc import Callable, Sequence
from typing import Any

from glassjax_stage1.interpreter import set_interpreter
from glassjax_stage2 import *
from glassjax_stage2 import primitives as p
from glassjax_stage2.arguments import FlatFunction, check_inexact, require_function, split_arguments
from glassjax_stage2.jvp import check_tangents
from glassjax_stage2.shaped_array import dialect, is_inexact
from glassjax_stage2.source import name_of, user_source
from glassjax_stage2.tangent import instantiate
from glassjax_stage2.trace import Params, Rules
from glassjax_stage2.tracer import PrimalTracer
from glassjax_stage4.grad import one_like
from glassjax_stage4.transpose import UndefPrimal, transpose_rules, unbroadcast

PullBack = Callable[[Any], Any]  # from the cotangent of a result to the cotangent of one operand
Node = int  # the place of a value's record on the tape
Record = Sequence[tuple[Node, PullBack]]  # how to send its cotangent back to each operand
vjp_rules = Rules("the tape", "vjp_rules")


class TapeTracer(PrimalTracer):
    """A value with its node."""

    def __init__(self, trace: "TapeTrace", primal: Any, node: Node):
        self.interpreter = trace
        self.source = user_source()
        self.primal = primal
        self.node = node


class TapeTrace(Trace):
    """Evaluates, and records on a tape how each result depends on its operands."""

    transformation = "vjp on a tape"
    tracer = TapeTracer
    rules = vjp_rules

    def __init__(self, f: Any = None):
        super().__init__(f)
        self.tape: list[Record] = []

    def box(self, primal: Any, record: Record = ()) -> Any:
        self.tape.append(record)
        return self.tracer(self, primal, len(self.tape) - 1)

    def process(self, primitive: Primitive, args: Sequence[Any], params: Params) -> list[Any]:
        nodes = [x.node if self.owns(x) else None for x in args]
        primals = [x.primal if self.owns(x) else x for x in args]
        with set_interpreter(self.parent):
            if nodes.count(None) == len(nodes):
                return bind(primitive, *primals, **params)
            rule = vjp_rules[primitive]
            (out,) = bind(primitive, *primals, **params)
            pull_backs = rule(out, *primals, **params)
        pairs = zip(nodes, pull_backs, strict=True)
        record = [(node, pull) for node, pull in pairs if node is not None and pull is not None]
        return [self.box(out, record) if record else out]

    def owns(self, x: Any) -> bool:
        return isinstance(x, TapeTracer) and x.interpreter is self


def play_back(
    tape: Sequence[Record], out_nodes: Sequence[Node | None], cts: Sequence[Any]
) -> dict[Node, Any]:
    """Propagate cotangents from results to everything they depend on.

    A result is recorded after its operands, so in reverse order each cotangent is complete before
    it is sent on.
    """
    cotangents: dict[Node, Any] = {}

    def accumulate(node: Node, ct: Any) -> None:
        cotangents[node] = add(cotangents[node], ct) if node in cotangents else ct

    for node, ct in zip(out_nodes, cts, strict=True):
        if node is not None and type(ct) is not Zero:
            accumulate(node, ct)
    for node in reversed(range(len(tape))):
        if node in cotangents:
            for operand, pull_back in tape[node]:
                accumulate(operand, pull_back(cotangents[node]))
    return cotangents


def defvjp(primitive: Primitive, *formulas: Callable[..., Any] | None) -> None:
    """Define how a primitive with one result propagates cotangents back.

    Arguments:
        primitive: the primitive.
        formulas: for each operand, a function `(ct, out, *operands, **params)` that returns the
            cotangent of that operand from `ct`, the cotangent of the result `out`; or None if the
            result does not depend smoothly on the operand.
    """

    def formula_vjp(out: Any, *operands: Any, **params: Any) -> list[PullBack | None]:
        def argument_vjp(formula: Callable[..., Any], x: Any) -> PullBack:
            return lambda ct: unbroadcast(formula(ct, out, *operands, **params), typeof(x))

        return [
            argument_vjp(formula, x) if formula and is_inexact(typeof(x).dtype) else None
            for formula, x in zip(formulas, operands, strict=True)
        ]

    vjp_rules[primitive] = formula_vjp


def _by_transpose(primitive: Primitive, which: int = 0) -> Callable[..., Any]:
    """The tape formula of an operand in which the primitive is linear: its transpose."""

    def transpose_formula(ct: Any, out: Any, *operands: Any, **params: Any) -> Any:
        linear = [UndefPrimal(typeof(x)) if i == which else x for i, x in enumerate(operands)]
        return transpose_rules[primitive]([ct], *linear, **params)[which]

    return transpose_formula


defvjp(p.neg_p, lambda ct, out, x: neg(ct))
defvjp(p.sin_p, lambda ct, out, x: mul(ct, cos(x)))
defvjp(p.cos_p, lambda ct, out, x: neg(mul(ct, sin(x))))
defvjp(p.exp_p, lambda ct, out, x: mul(ct, out))
defvjp(p.log_p, lambda ct, out, x: div(ct, x))

defvjp(p.add_p, lambda ct, out, x, y: ct, lambda ct, out, x, y: ct)
defvjp(p.sub_p, lambda ct, out, x, y: ct, lambda ct, out, x, y: neg(ct))
defvjp(p.mul_p, lambda ct, out, x, y: mul(ct, y), lambda ct, out, x, y: mul(x, ct))
defvjp(p.div_p, lambda ct, out, x, y: div(ct, y), lambda ct, out, x, y: neg(mul(div(ct, y), out)))
defvjp(
    p.pow_p,
    lambda ct, out, x, y: mul(ct, mul(y, power(x, where(eq(y, 0), 1, sub(y, 1))))),
    lambda ct, out, x, y: mul(ct, mul(out, log(where(eq(x, 0), 1, x)))),
)

for comparison_p in p.COMPARISONS:
    defvjp(comparison_p, None, None)

defvjp(p.select_n_p, None, _by_transpose(p.select_n_p, 1), _by_transpose(p.select_n_p, 2))
for linear_p in (
    p.convert_element_type_p,
    p.reduce_sum_p,
    p.transpose_p,
    p.reshape_p,
    p.broadcast_in_dim_p,
):
    defvjp(linear_p, _by_transpose(linear_p))
defvjp(p.dot_general_p, _by_transpose(p.dot_general_p, 0), _by_transpose(p.dot_general_p, 1))


def vjp(fun: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Evaluate `fun` on a tape and return the function that plays it back.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        primals: the arguments at which to evaluate.

    Returns:
        The result of `fun`, and a function from its cotangent to the arguments' cotangents.

    >>> y, f_vjp = vjp(lambda x, y: x * y, 3.0, 4.0)
    >>> f_vjp(1.0)
    (4.0, 3.0)
    """
    leaves, in_tree = tree_flatten(primals)
    require_function("vjp on a tape", fun)
    flat_fun = FlatFunction(fun, in_tree)
    trace = dialect().interpreter(TapeTrace)(fun)
    with trace.run():
        args = [trace.box(x) if is_inexact(typeof(x).dtype) else x for x in leaves]
        outs = flat_fun(*args)
    in_nodes = [x.node if trace.owns(x) else None for x in args]
    out_nodes = [out.node if trace.owns(out) else None for out in outs]
    primal_outs = [out.primal if trace.owns(out) else out for out in outs]
    out_avals = [typeof(out) for out in primal_outs]

    def f_vjp(ct: Any) -> Any:
        role = f"vjp of `{name_of(fun)}`: cotangent"
        cts = check_tangents(role, flat_fun.out_tree, out_avals, ct)
        cotangents = play_back(trace.tape, out_nodes, cts)
        in_cts = [
            cotangents[node] if node in cotangents else Zero.like(x)
            for node, x in zip(in_nodes, leaves, strict=True)
        ]
        return tree_unflatten(in_tree, [instantiate(ct) for ct in in_cts])

    return tree_unflatten(flat_fun.out_tree, primal_outs), f_vjp


def grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The gradient of a function whose result is a real scalar.

    Arguments:
        fun: function of numbers, arrays and pytrees of them. Python ints count as floats.
        argnums: the positional arguments to differentiate with respect to.

    Returns:
        A function of the same arguments that returns the gradient; a tuple of gradients if
        `argnums` is a sequence.

    Raises:
        TypeError: the result of `fun` is not one real number, or an argument to differentiate
            has a leaf that is not real.

    >>> grad(grad(lambda x: 3 * x * x * x + 2 * x * x + 2 * x))(2)
    40.0
    """
    require_function("grad on a tape", fun)

    def gradient(*args: Any) -> Any:
        inputs, f = split_arguments("grad on a tape", fun, argnums, args, {})
        inputs = tree_map(lambda x: float(x) if type(x) is int else x, inputs)
        check_inexact("grad on a tape", f"argument {argnums}", fun, inputs)
        out, f_vjp = vjp(f, inputs)
        return f_vjp(one_like("grad on a tape", fun, out))[0]

    return gradient
