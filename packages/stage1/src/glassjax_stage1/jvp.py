"""Forward-mode differentiation: every value is paired with its tangent."""

from collections.abc import Callable
from functools import partial
from typing import Any

from glassjax_stage1.interpreter import Boxed, Interpreter, Op, add, mul, set_interpreter


class DualNumber(Boxed):
    """A primal and its tangent: the value, and how fast it changes."""

    def __init__(self, interpreter: Interpreter, primal: Any, tangent: Any):
        super().__init__(interpreter)
        self.primal = primal
        self.tangent = tangent

    def __repr__(self) -> str:
        return f"DualNumber(primal={self.primal!r}, tangent={self.tangent!r})"


class JVPInterpreter(Interpreter):
    """Computes with dual numbers. Other values are constants, with tangent zero."""

    transformation = "jvp"

    def interpret_op(self, op: Op, args: tuple[Any, ...]) -> DualNumber:
        x, y = (self.lift(arg) for arg in args)
        with set_interpreter(self.parent):
            match op:
                case Op.add:
                    primal, tangent = add(x.primal, y.primal), add(x.tangent, y.tangent)
                case Op.mul:
                    primal = mul(x.primal, y.primal)
                    tangent = add(mul(x.tangent, y.primal), mul(x.primal, y.tangent))
        return DualNumber(self, primal, tangent)

    def lift(self, x: Any) -> DualNumber:
        """`x` if it is a dual number of this interpreter; anything else is a constant."""
        is_own = isinstance(x, DualNumber) and x.interpreter is self
        return x if is_own else DualNumber(self, x, 0.0)


def jvp(f: Callable[[Any], Any], primal: Any, tangent: Any) -> tuple[Any, Any]:
    """Evaluate `f` and its derivative along a direction, in one pass.

    Arguments:
        f: function of one number, made of `add` and `mul`.
        primal: the number at which `f` is evaluated.
        tangent: the rate at which that number changes.

    Returns:
        `f(primal)` and the rate at which it changes.

    Raises:
        TypeError: an argument, or the result of `f`, is not a float or an int.

    >>> jvp(lambda x: mul(x, add(x, 3.0)), 2.0, 1.0)
    (10.0, 7.0)
    """
    interpreter = JVPInterpreter(f)
    interpreter.check(primal, "primal of jvp")
    interpreter.check(tangent, "tangent of jvp")
    with interpreter.run():
        result = interpreter.lift(f(DualNumber(interpreter, primal, tangent)))
    interpreter.check(result.primal, f"result of `{interpreter.function_name}`")
    return result.primal, result.tangent


def derivative(f: Callable[[Any], Any], x: Any) -> Any:
    """The derivative of `f`, a function of one number, at `x`.

    >>> derivative(lambda x: mul(x, add(x, 3.0)), 2.0)
    7.0
    """
    return jvp(f, x, 1.0)[1]


def nth_order_derivative(n: int, f: Callable[[Any], Any], x: Any) -> Any:
    """The `n`-th derivative of `f` at `x`; the 0th is `f(x)`.

    >>> [nth_order_derivative(n, lambda x: mul(x, add(x, 3.0)), 2.0) for n in range(4)]
    [10.0, 7.0, 2.0, 0.0]
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise ValueError(f"nth_order_derivative: n must be an int of at least 0, found {n!r}")
    if n == 0:
        return f(x)
    return derivative(partial(nth_order_derivative, n - 1, f), x)
