"""Declaration of a higher-order primitive, with all its rules at once.

The interpreters of the stages each own a table, and so does dependence analysis. The tables of the
rooms above, which order effects, follow random keys and run a program step by step, are here, so
that a primitive can be declared in all of them at once.
"""

from collections.abc import Callable
from typing import Any

from minijax.primitives.declare import piecewise_constant
from minijax.primitives.dependence import dependence_rules
from minijax.primitives.loops import evaluate_compiled
from minijax.primitives.regions import host_calls
from minijax.runtime.effects import declare_effects, define_dce
from minijax.runtime.ordered_effects import order_rules
from minijax.runtime.program_rules import ProgramRules
from minijax.runtime.templates import note_declaration
from minijax.shardings.types import sharding_rules
from minijax_stage2 import Primitive, defzero, impl_rules, jvp_rules, vmap_rules
from minijax_stage3 import abstract_eval_rules, lowering_rules
from minijax_stage4.partial_eval import partial_eval_rules
from minijax_stage4.transpose import transpose_rules

Rule = Callable[..., Any]

# `rule(keys_of, count, **params)`: the uses of keys among `count` operands, as `keys_of` finds them
# in a program. None: its programs use no keys.
key_rules = ProgramRules("the uses of keys", "key_rules")

# `rule(args, **params)`: runs the programs, primitive by primitive. None: it is one step.
step_rules = ProgramRules("running step by step", "step_rules")


def declare_program(
    primitive: Primitive,
    *,
    abstract_eval: Rule,
    lower: Rule,
    vmap: Rule,
    sharding: Rule | None = None,
    jvp: Rule | None,
    transpose: Rule | None,
    partial_eval: Rule | None,
    dce: Rule | None,
    dependence: Rule | None,
    order: Rule | None,
    keys: Rule | None,
    steps: Rule | None,
    evaluate: Rule | None = None,
    effects: bool = False,
    calls_host: bool = False,
) -> None:
    """Enter a higher-order primitive in the table of every interpreter.

    Arguments:
        primitive: the primitive.
        abstract_eval: function from the types of operands to the list of types of results.
        lower: the lowering rule.
        vmap: function `(axis, values, dims, **params)` from a `BatchAxis`, operands and the numbers
            of their batch axes to results and theirs.
        sharding: function from types to the division of results, as for `declare`. None: the
            programs say it, which `abstract_eval` is given.
        jvp: function from operands and tangents, which may be `Zero`, to results and theirs. None:
            the results are piecewise constant.
        transpose: function from cotangents of the results to those of the operands that are
            `UndefPrimal`. None: it is not linear in any operand.
        partial_eval: function from flags of the unknown operands, and an equation, to the equations
            into which to split it. None: if an operand is unknown, so is every result.
        dce: function from flags of the used results, and an equation, to the operands that it
            needs, and the equation without the others. None: the equation does not change.
        dependence: function from a dependence analysis of programs, and flags of operands, to the
            results that depend on them. None: any may.
        order: adds tokens to an equation whose programs have effects. None: they may not have any.
        keys: the operands that its programs use as random keys. None: they use none.
        steps: runs its programs, primitive by primitive. None: it is one step.
        evaluate: function from operands to results. By default XLA compiles the primitive.
        effects: whether it does more than return results.
        calls_host: whether it calls Python.

    `minijax.primitives.calls` has the rules of a primitive that calls one program on all of its
    operands. This one calls it twice:

    >>> from functools import partial
    >>> from minijax import core
    >>> twice_p = core.Primitive("twice", higher_order=True)
    >>> def twice(x, *, jaxpr):
    ...     return core.eval_jaxpr(jaxpr, [], *core.eval_jaxpr(jaxpr, [], x))
    >>> def vmap_twice(axis, values, dims, *, jaxpr):
    ...     return core.vmap_flat(partial(twice, jaxpr=jaxpr), values, dims, axis, "twice")
    >>> def jvp_twice(primals, tangents, *, jaxpr):
    ...     return core.jvp_flat(partial(twice, jaxpr=jaxpr), primals, tangents, "twice")
    >>> core.declare_program(
    ...     twice_p,
    ...     abstract_eval=lambda x, *, jaxpr: [x],
    ...     lower=core.lower_by(twice),
    ...     vmap=vmap_twice,
    ...     jvp=jvp_twice,
    ...     transpose=None,
    ...     partial_eval=None,
    ...     dce=None,
    ...     dependence=None,
    ...     order=None,
    ...     keys=None,
    ...     steps=None,
    ... )
    >>> def f(x):
    ...     jaxpr = core.trace_to_jaxpr(lambda x: [x * x], [core.typeof(x)], "twice", None).jaxpr
    ...     return core.bind(twice_p, x, jaxpr=jaxpr)[0]
    >>> minijax.jit(f)(3.0), minijax.grad(f)(3.0)
    (Array(81., dtype=float32, weak_type=True), Array(108., dtype=float32, weak_type=True))
    """
    impl_rules[primitive] = evaluate or evaluate_compiled(primitive)
    note_declaration(primitive)
    abstract_eval_rules[primitive] = abstract_eval
    lowering_rules[primitive] = lower
    vmap_rules[primitive] = vmap
    if sharding is not None:
        sharding_rules[primitive] = sharding
    if jvp is None:
        defzero(primitive)
        piecewise_constant.add(primitive)
    else:
        jvp_rules[primitive] = jvp
    if transpose is not None:
        transpose_rules[primitive] = transpose
    partial_eval_rules[primitive] = partial_eval
    define_dce(primitive, dce)
    complete(primitive, dependence=dependence, order=order, keys=keys, steps=steps)
    if effects:
        declare_effects(primitive)
    if calls_host:
        host_calls.add(primitive)


def complete(
    primitive: Primitive,
    *,
    dependence: Rule | None,
    order: Rule | None,
    keys: Rule | None,
    steps: Rule | None,
) -> None:
    """Enter a primitive in the tables that the stages lack; see `declare_program`."""
    dependence_rules[primitive] = dependence
    order_rules[primitive] = order
    key_rules[primitive] = keys
    step_rules[primitive] = steps
