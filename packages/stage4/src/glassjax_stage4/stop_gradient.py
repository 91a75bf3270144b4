"""`stop_gradient`: a value that derivatives treat as a constant."""

from typing import Any

from glassjax_stage2 import Primitive, bind1, defzero, impl_rules, vmap_rules
from glassjax_stage2.vmap_rules import elementwise
from glassjax_stage3 import abstract_eval_rules, lowering_rules

stop_gradient_p = Primitive("stop_gradient")


def stop_gradient(x: Any) -> Any:
    """`x` as a constant: no derivative passes through it.

    >>> from glassjax_stage4 import grad
    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    3.0
    """
    return bind1(stop_gradient_p, x)


impl_rules[stop_gradient_p] = lambda x: [x]
defzero(stop_gradient_p)
vmap_rules[stop_gradient_p] = elementwise(stop_gradient_p)
abstract_eval_rules[stop_gradient_p] = lambda x: [x]
lowering_rules[stop_gradient_p] = lambda b, out_avals, x: [x]
