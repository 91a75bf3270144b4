"""Staging: run a Python function once to record its operations as a jaxpr."""

from collections.abc import Callable
from typing import Any

from glassjax_stage1.interpreter import Boxed, Interpreter, Op
from glassjax_stage1.jaxpr import Atom, Equation, Jaxpr, Var


class StagedValue(Boxed):
    """A placeholder for a value: the variable that will hold it."""

    def __init__(self, interpreter: Interpreter, var: Var):
        super().__init__(interpreter)
        self.var = var

    def __repr__(self) -> str:
        return f"StagedValue(made at {self.source})"


class StagingInterpreter(Interpreter):
    """Computes nothing, but writes an equation for every operation."""

    transformation = "staging"

    def __init__(self, f: Any = None):
        super().__init__(f)
        self.equations: list[Equation] = []

    def interpret_op(self, op: Op, args: tuple[Any, ...]) -> StagedValue:
        atoms = tuple(self.to_atom(x, f"argument {i} of {op.name}") for i, x in enumerate(args))
        result = StagedValue(self, Var())
        self.equations.append(Equation(result.var, op, atoms))
        return result

    def to_atom(self, x: Any, role: str) -> Atom:
        """The variable of one of our own values; numbers and outer values are constants."""
        if isinstance(x, StagedValue) and x.interpreter is self:
            return x.var
        self.check(x, role)
        return x


def build_jaxpr(f: Callable[..., Any], num_args: int) -> Jaxpr:
    """Stage `f`, a function of `num_args` numbers, to a jaxpr.

    Raises:
        TypeError: `f` uses or returns something other than a float or an int.
        ValueError: `num_args` is not an int of at least 0.

    >>> from glassjax_stage1 import add, mul
    >>> print(build_jaxpr(lambda x: mul(x, add(x, 3.0)), 1))
    v_1 ->
      v_2 = Op.add(v_1, 3.0)
      v_3 = Op.mul(v_1, v_2)
    v_3
    """
    if isinstance(num_args, bool) or not isinstance(num_args, int) or num_args < 0:
        raise ValueError(f"build_jaxpr: num_args must be an int of at least 0, found {num_args!r}")
    interpreter = StagingInterpreter(f)
    parameters = tuple(Var() for _ in range(num_args))
    with interpreter.run():
        result = f(*(StagedValue(interpreter, var) for var in parameters))
    return_val = interpreter.to_atom(result, f"result of `{interpreter.function_name}`")
    return Jaxpr(parameters, tuple(interpreter.equations), return_val)
