"""Dead-code elimination: the simplest reason to have a program as data.

It walks backwards, from the result to everything that it needs, which an interpreter that runs
alongside the program cannot do.
"""

from glassjax_stage1.jaxpr import Equation, Jaxpr, Var


def eliminate_dead_code(jaxpr: Jaxpr) -> Jaxpr:
    """The same function without equations whose results are unused.

    >>> from glassjax_stage1 import add, build_jaxpr, mul
    >>> def f(x):
    ...     unused = mul(x, x)
    ...     return add(x, 1.0)
    >>> print(eliminate_dead_code(build_jaxpr(f, 1)))
    v_1 ->
      v_2 = Op.add(v_1, 1.0)
    v_2
    """
    needed = {atom for atom in [jaxpr.return_val] if isinstance(atom, Var)}
    kept: list[Equation] = []
    for equation in reversed(jaxpr.equations):
        if equation.var in needed:
            needed.update(arg for arg in equation.args if isinstance(arg, Var))
            kept.append(equation)
    return Jaxpr(jaxpr.parameters, tuple(reversed(kept)), jaxpr.return_val)
