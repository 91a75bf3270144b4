"""`debug.step`: a function executed equation by equation."""

import functools
from collections.abc import Callable
from typing import Any

from minijax.explaining.execution import Execution
from minijax.explaining.explain import require_call, traced_anew
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.staging import ShapeDtypeStruct
from minijax_stage2.arguments import argument_names, require_function
from minijax_stage2.source import name_of
from minijax_stage2.tree import tree_flatten
from minijax_stage3 import Jaxpr


def step(fun: Callable[..., Any]) -> Callable[..., Execution]:
    """Execute a function equation by equation, as a debugger does.

    The function is staged to a jaxpr. Each equation is then evaluated by itself, and every variable
    can be looked at: `execution.step()` evaluates the next equation, `next()` does so with the
    programs that it calls, `run()` goes on to a breakpoint, to the first NaN or infinity, or to the
    end. `execution.prompt()` asks for commands in the terminal.

    Arguments:
        fun: function of arrays and pytrees of arrays, jitted or not.

    Returns:
        A function of the same arguments that returns an `Execution`, before its first equation.

    Raises:
        TypeError: `fun` is not a function; when called, an argument is not an array.

    >>> execution = minijax.debug.step(lambda x: jnp.log(x - 1.0) * 2.0)(1.0)
    >>> execution.run()
    Stop(reason='infinity in the result of log', number='2')
    >>> execution.values["b"], execution.values["c"]
    (array(0., dtype=float32), array(-inf, dtype=float32))
    >>> execution.run() or execution.result
    array(-inf, dtype=float32)
    """
    require_function("debug.step", fun)

    @evaluated_by_library
    @functools.wraps(fun)
    def begin(*args: Any, **kwargs: Any) -> Execution:
        require_call("debug.step", fun, args, kwargs)
        function = traced_anew(fun)
        traced = function.trace(*args, **kwargs)
        static, args, kwargs = function._static.split(args, kwargs)
        args, kwargs = function._static.drop(static, args, kwargs)
        leaves, _ = tree_flatten((args, kwargs))
        for name, x in zip(argument_names(fun, args, kwargs), leaves, strict=True):
            if isinstance(x, ShapeDtypeStruct):
                raise TypeError(
                    f"debug.step of `{name_of(fun)}`: argument {name} is a type, {x}; give an array"
                )
        closed, program = traced.jaxpr, traced.jaxpr.jaxpr
        # Each variable of a called program has a value, and needs a name, of its own.
        jaxpr = Jaxpr(program.constvars, program.invars, program.eqns, program.outvars)
        return Execution(name_of(fun), jaxpr, closed.consts, leaves, traced.out_tree)

    return begin


__all__ = ["step"]
