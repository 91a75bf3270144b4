"""Staging: run a Python function once, on types alone, to write it down as a jaxpr."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from minijax_stage1.interpreter import leaked_value_error
from minijax_stage2 import Primitive, ShapedArray, Trace, Tracer, typeof
from minijax_stage2.argument_names import argument_names
from minijax_stage2.flat_function import FlatFunction, require_function
from minijax_stage2.shaped_array import check_shape, dialect, dtype_of_numbers, is_value
from minijax_stage2.source import is_machinery, name_of, user_source
from minijax_stage2.tree import tree_flatten
from minijax_stage3.abstract_eval import abstract_eval
from minijax_stage3.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var


class JaxprTracer(Tracer):
    """A value of known type only: the variable that will hold it."""

    __slots__ = ("aval", "variable")

    aval: ShapedArray

    def __init__(self, trace: "JaxprTrace", var: Var, source: Any):
        self.interpreter = trace
        self.source = source
        self.variable = var
        self.aval = var.aval

    def why_unknown(self) -> str:
        return self.interpreter.why_unknown(self)  # type: ignore[attr-defined, no-any-return]


class JaxprTrace(Trace):
    """Computes nothing but types, and writes an equation for every primitive applied.

    As the current interpreter it sees all primitives, even those applied to constants only.
    """

    tracer = JaxprTracer

    def __init__(self, transformation: str, f: Any = None):
        super().__init__(f)
        self.transformation = transformation
        self.invars: list[Var] = []
        self.eqns: list[JaxprEqn] = []
        self.constants: dict[int, tuple[Var, Any]] = {}
        self.argument_names: Callable[[], Sequence[str]] = lambda: ()

    def new_arg(self, aval: ShapedArray) -> JaxprTracer:
        (tracer,) = self.new_args([aval])
        return tracer

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
        if not aval.shape and not aval.dtype.names and self.is_literal(x):
            return Literal(x, aval)
        if id(x) not in self.constants:
            self.constants[id(x)] = Var(aval), x
        return self.constants[id(x)][0]

    def is_literal(self, scalar: Any) -> bool:
        """Return True if a scalar is written into the program."""
        return not isinstance(scalar, Tracer | np.ndarray)

    def to_jaxpr(self, outs: Sequence[Any]) -> ClosedJaxpr:
        outvars = [self.to_atom(out) for out in outs]
        constvars = [var for var, _ in self.constants.values()]
        consts = [value for _, value in self.constants.values()]
        return ClosedJaxpr(Jaxpr(constvars, self.invars, self.eqns, outvars), consts)

    def why_unknown(self, tracer: JaxprTracer) -> str:
        names = self.argument_names()
        variable = tracer.variable
        needed = [name for name, var in zip(names, self.invars, strict=False) if var is variable]
        if needed:
            what = f"it is argument {needed[0]}"
        else:
            behind = self._arguments_behind(variable)
            needed = [name for name, var in zip(names, self.invars, strict=False) if var in behind]
            what = f"it was computed at {tracer.source}"
            what += f" from argument {', '.join(needed)}" if needed else ""
        return (
            f"the value is abstract, {tracer.aval}: {what} of `{self.function_name}`, "
            f"which {self.transformation} traces once for all values"
        )

    def _arguments_behind(self, var: Var) -> set[Atom]:
        needed: set[Atom] = {var}
        for eqn in reversed(self.eqns):
            if not needed.isdisjoint(eqn.outvars):
                needed.update(eqn.invars)
        return needed


def trace_to_jaxpr(
    f: Callable[..., Sequence[Any]],
    in_avals: Sequence[ShapedArray],
    transformation: str,
    name: Any,
    argument_names: Callable[[], Sequence[str]] = lambda: (),
) -> ClosedJaxpr:
    """Stage a function of arrays that returns a list of arrays.

    >>> from minijax_stage2 import ShapedArray, sin
    >>> trace_to_jaxpr(lambda x: [sin(x)], [ShapedArray((2,), "float32")], "an example", None)
    { lambda ; a:f32[2]. let b:f32[2] = sin a in (b,) }
    """
    trace: JaxprTrace = dialect().interpreter(JaxprTrace)(transformation, name)
    trace.argument_names = argument_names
    with trace.run():
        outs = f(*trace.new_args(in_avals))
    return trace.to_jaxpr(outs)


def make_jaxpr(fun: Callable[..., Any]) -> Callable[..., ClosedJaxpr]:
    """Stage `fun` to a jaxpr.

    Arguments:
        fun: function of arrays and pytrees of arrays.

    Returns:
        A function of the same arguments, of which only the types matter: a `ShapedArray` may
        replace an array. It returns a `ClosedJaxpr`.

    >>> from minijax_stage2 import sin
    >>> make_jaxpr(lambda x: 2.0 * sin(x))(1.0)
    { lambda ; a:f64[]. let b:f64[] = sin a; c:f64[] = mul 2.0:f64[] b in (c,) }
    """
    require_function("make_jaxpr", fun)

    def make(*args: Any, **kwargs: Any) -> ClosedJaxpr:
        leaves, in_tree = tree_flatten((args, kwargs))

        def names() -> list[str]:
            return argument_names(fun, args, kwargs)

        in_avals = abstractify("make_jaxpr", fun, names, leaves, types=True)
        flat_fun = FlatFunction(fun, in_tree, has_kwargs=True)
        return trace_to_jaxpr(flat_fun, in_avals, "make_jaxpr", fun, names)

    return make


def abstractify(
    caller: str,
    fun: Any,
    names: Callable[[], Sequence[str]],
    leaves: Sequence[Any],
    types: bool = False,
) -> list[ShapedArray]:
    """The types of arguments, named in errors; with `types`, arguments may be types.

    A type is a `ShapedArray`, or anything with a shape and a dtype.

    Raises:
        TypeError: an argument is not an array; the message says which.
        OverflowError: an argument is a Python int of more than 64 bits.
    """
    avals = []
    for index, leaf in enumerate(leaves):
        if types and (aval := as_type(leaf)):
            avals.append(aval)
            continue
        try:
            avals.append(typeof(leaf))
        except (TypeError, OverflowError) as error:
            role = f"{caller} of `{name_of(fun)}`" if caller else name_of(fun)
            message = f"{role}: argument {names()[index]}: {error}"
            if caller and isinstance(error, TypeError):
                message = message.rstrip(".")
                static = " by static_argnums or static_argnames" * (caller == "jit")
                message += (
                    ". An argument that is not an array can be closed over, or made static"
                    f"{static or ' where the caller offers it'}."
                )
            raise type(error)(message) from None
    return avals


def as_type(x: Any) -> ShapedArray | None:
    """The type `x`, if it is not a value."""
    if hasattr(x, "to_aval"):  # which says more of its type
        return x.to_aval()  # type: ignore[no-any-return]
    if isinstance(x, ShapedArray):
        return x
    if is_value(x) or not hasattr(x, "shape") or not hasattr(x, "dtype"):
        return None
    shape = tuple(x.shape)
    check_shape("a type", shape)
    weak_type = bool(getattr(x, "weak_type", False))
    return ShapedArray(shape, dtype_of_numbers("a type", x.dtype), weak_type)


def name_and_place_of(f: Any) -> str:
    """Return the name of `f` for a message, with the file and line where it is written."""
    named = f"`{name_of(f)}`"
    while isinstance(f, partial):
        f = f.func
    code = getattr(_unwrapped(f), "__code__", None)
    if code is None or is_machinery(code.co_filename):
        return named
    return f"{named} at {code.co_filename}:{code.co_firstlineno}"


def _unwrapped(f: Any) -> Any:
    while hasattr(f, "__wrapped__"):
        f = f.__wrapped__
    return f
