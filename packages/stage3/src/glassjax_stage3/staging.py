"""Staging: run a Python function once, on types alone, to write it down as a jaxpr."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glassjax_stage1.interpreter import leaked_value_error
from glassjax_stage2 import Primitive, ShapedArray, Trace, Tracer, typeof
from glassjax_stage2.arguments import FlatFunction, argument_names, require_function
from glassjax_stage2.shaped_array import dialect, float0
from glassjax_stage2.source import name_of, user_source
from glassjax_stage2.tree import tree_flatten
from glassjax_stage3.abstract_eval import abstract_eval
from glassjax_stage3.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var

Names = Callable[[], Sequence[str]]  # makes the names of arguments, which only messages need


class JaxprTracer(Tracer):
    """A value with only a known type: the variable that will hold it."""

    def __init__(self, trace: "JaxprTrace", var: Var, source: Any):
        self.interpreter = trace
        self.source = source
        self.variable = var
        self.aval = var.aval

    def why_unknown(self) -> str:
        return self.interpreter.why_unknown(self)  # type: ignore[attr-defined, no-any-return]


class JaxprTrace(Trace):
    """Computes only types, and writes an equation for every primitive applied.

    As the current interpreter it sees all primitives, even those applied only to constants.
    """

    tracer = JaxprTracer

    def __init__(self, transformation: str, f: Any = None):
        super().__init__(f)
        self.transformation = transformation
        self.invars: list[Var] = []
        self.eqns: list[JaxprEqn] = []
        self.constants: dict[int, tuple[Var, Any]] = {}
        self.argument_names: Names = lambda: ()

    def new_args(self, avals: Sequence[ShapedArray]) -> list[JaxprTracer]:
        invars = [Var(aval) for aval in avals]
        self.invars += invars
        source = user_source()
        return [self.tracer(self, var, source) for var in invars]

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        invars, in_avals = [], []
        for x in args:
            atom = self.to_atom(x)
            invars.append(atom)
            in_avals.append(atom.aval)
        source = user_source()
        outvars, outs = [], []
        for aval in abstract_eval(primitive, tuple(in_avals), params):
            var = Var(aval)
            outvars.append(var)
            outs.append(self.tracer(self, var, source))
        self.eqns.append(JaxprEqn(primitive, invars, outvars, params, source))
        return outs

    def to_atom(self, x: Any) -> Atom:
        """The variable of one of our own tracers, a literal for a number, or a constant."""
        if isinstance(x, JaxprTracer) and x.interpreter is self:
            return x.variable
        if isinstance(x, Tracer) and x.interpreter not in self.stack():
            raise leaked_value_error(x, x.interpreter, x.source)
        aval = typeof(x)
        is_number = not aval.dtype.names or aval.dtype == float0
        if not aval.shape and is_number and self.is_literal(x):
            return Literal(x, aval)
        if id(x) not in self.constants:
            self.constants[id(x)] = Var(aval), x
        return self.constants[id(x)][0]

    def is_literal(self, scalar: Any) -> bool:
        """Return True if a scalar is written into the program."""
        return not isinstance(scalar, Tracer | np.ndarray)

    def to_jaxpr(self, outs: Sequence[Any]) -> Jaxpr:
        outvars = [self.to_atom(out) for out in outs]
        constvars = [var for var, _ in self.constants.values()]
        consts = [value for _, value in self.constants.values()]
        return Jaxpr(constvars, self.invars, self.eqns, outvars, consts)

    def why_unknown(self, tracer: JaxprTracer) -> str:
        needed: set[Atom] = {tracer.variable}
        for eqn in reversed(self.eqns):
            if not needed.isdisjoint(eqn.outvars):
                needed.update(eqn.invars)
        named = zip(self.argument_names(), self.invars, strict=False)
        names = [name for name, var in named if var in needed]
        origin = f"it was computed at {tracer.source}"
        if names and tracer.variable in self.invars:
            origin = f"it is argument {names[0]}"
        elif names:
            origin = f"{origin} from argument {', '.join(names)}"
        return (
            f"the value is abstract, {tracer.aval}: {origin} of `{self.function_name}`, "
            f"which {self.transformation} traces once for all values"
        )


def trace_to_jaxpr(
    f: Callable[..., Sequence[Any]],
    in_avals: Sequence[ShapedArray],
    transformation: str,
    name: Any,
    argument_names: Names = lambda: (),
) -> Jaxpr:
    """Stage a function of arrays that returns a list of arrays.

    Arguments:
        f: function of arrays that returns a list of arrays.
        in_avals: the types of its arguments.
        transformation: the name of the transformation that stages it, for messages.
        name: the name of the function, for messages.
        argument_names: function that returns the names of the arguments, for messages.

    >>> from glassjax_stage2 import ShapedArray, sin
    >>> trace_to_jaxpr(lambda x: [sin(x)], [ShapedArray((2,), "float32")], "an example", None)
    { lambda ; a:f32[2]. let b:f32[2] = sin a in (b,) }
    """
    trace: JaxprTrace = dialect().interpreter(JaxprTrace)(transformation, name)
    trace.argument_names = argument_names
    with trace.run():
        return trace.to_jaxpr(f(*trace.new_args(in_avals)))


def make_jaxpr(fun: Callable[..., Any]) -> Callable[..., Jaxpr]:
    """Stage `fun` to a jaxpr.

    Arguments:
        fun: function of arrays and pytrees of arrays.

    Returns:
        A function of the same arguments, whose values are ignored: a `ShapedArray` may replace an
        array. It returns a `Jaxpr`.

    >>> from glassjax_stage2 import sin
    >>> make_jaxpr(lambda x: 2.0 * sin(x))(1.0)
    { lambda ; a:f64[]. let b:f64[] = sin a; c:f64[] = mul 2.0:f64[] b in (c,) }
    """
    require_function("make_jaxpr", fun)

    def make(*args: Any, **kwargs: Any) -> Jaxpr:
        leaves, in_tree = tree_flatten((args, kwargs))

        def names() -> list[str]:
            return argument_names(fun, args, kwargs)

        caller = f"make_jaxpr of `{name_of(fun)}`"
        in_avals = abstractify(caller, names, leaves, type_of=as_type)
        flat_fun = FlatFunction(fun, in_tree, has_kwargs=True)
        return trace_to_jaxpr(flat_fun, in_avals, "make_jaxpr", fun, names)

    return make


CLOSE_OVER = "An argument that is not an array can be closed over"


def abstractify(
    caller: str,
    names: Names,
    leaves: Sequence[Any],
    remedy: str = CLOSE_OVER,
    type_of: Any = typeof,
) -> list[ShapedArray]:
    """The types of arguments by `type_of`.

    Raises:
        TypeError: an argument is not an array; the message says which.
        OverflowError: an argument is a Python int of more than 64 bits.
    """
    avals = []
    for index, leaf in enumerate(leaves):
        try:
            avals.append(type_of(leaf))
        except (TypeError, OverflowError) as error:
            message = f"{caller}: argument {names()[index]}: {error}"
            if remedy and isinstance(error, TypeError):
                message = f"{message.rstrip('.')}. {remedy}."
            raise type(error)(message) from None
    return avals


def as_type(x: Any) -> ShapedArray:
    """The type of a value, or a type itself."""
    return x if isinstance(x, ShapedArray) else typeof(x)
