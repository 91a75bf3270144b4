"""Reads a jaxpr aloud: each equation under the line that it comes from, and what it says in words.

The demo reads the gradient of its own loss with it.
"""

from itertools import groupby
from string import ascii_lowercase

from glassjax.core import Literal, dce_jaxpr

# What an equation says; {0}, {1}, ... are its operands.
IN_WORDS = {
    "add": "{0} + {1}",
    "add_any": "{0} + {1}",
    "broadcast_in_dim": "{0}, repeated",
    "convert_element_type": "{0}, as numbers of another type",
    "div": "{0} / {1}",
    "dot_general": "a matrix product of {0} and {1}",
    "eq": "where {0} equals {1}",
    "exp": "e to the power {0}",
    "gt": "where {0} exceeds {1}",
    "iota": "0, 1, 2, ... along an axis",
    "le": "where {0} is at most {1}",
    "log": "the logarithm of {0}",
    "max": "the larger of {0} and {1}",
    "mul": "{0} * {1}",
    "neg": "-{0}",
    "reduce_max": "the largest of {0} along an axis",
    "reduce_sum": "the sum of {0} along an axis",
    "relu": "{0}, but 0 where it is negative",
    "reshape": "{0} in another shape",
    "select_n": "{1}, but {2} where {0}",
    "stop_gradient": "{0}, a constant for derivatives",
    "sub": "{0} - {1}",
    "transpose": "{0} with its axes exchanged",
}
EQUATION = "    {:3}= {:22}{:13}{}"


def read_aloud(gradient, arguments):
    """The lines that explain a gradient's jaxpr, whose arguments have these names."""
    jaxpr, _ = dce_jaxpr(gradient)
    names = dict(zip(gradient.invars, arguments, strict=True))
    turning_point = max(eqn.source.line for eqn in jaxpr.eqns)
    for source, eqns in groupby(jaxpr.eqns, lambda eqn: (eqn.source.line, eqn.source.text)):
        number, text = source
        if number == turning_point:
            yield "\n  The loss itself is not asked for. Back from its derivative by itself, 1:\n"
        yield f"  line {number}: {text}"
        for eqn in eqns:
            yield in_words(eqn, names)
    yield f"\n  The gradients: {', '.join(names[out] for out in jaxpr.outvars)}."
    left_out = len(gradient.eqns) - len(jaxpr.eqns)
    yield f"  Left out are {left_out} equations whose results nothing uses; so does XLA. It also"
    yield "  simplifies what is trivial, such as the maximum with -inf, which is for empty arrays."


def in_words(eqn, names):
    """One equation, whose result it names."""
    operands = [str(x.val) if isinstance(x, Literal) else names[x] for x in eqn.invars]
    (out,) = eqn.outvars
    names[out] = next(name for name in all_names() if name not in names.values())
    says = IN_WORDS[str(eqn.primitive)].format(*operands)
    return EQUATION.format(names[out], str(eqn.primitive), str(out.aval), says)


def all_names():
    """a, b, ..., z, aa, ab, ..."""
    yield from ascii_lowercase
    for name in all_names():
        yield from (name + letter for letter in ascii_lowercase)
