"""The operations and the bytes of a program, under the names of `jax.experimental.roofline`.

`roofline` counts them for a function, from the types of its arguments alone: nothing is computed.
"""

import minijax.experimental.roofline.rules as _rules
from minijax.experimental.roofline.roofline import (
    RooflineResult,
    RooflineRuleContext,
    RooflineShape,
    register_roofline,
    register_standard_roofline,
    roofline,
    roofline_and_grad,
)

__all__ = [
    "RooflineResult", "RooflineRuleContext", "RooflineShape", "register_roofline",
    "register_standard_roofline", "roofline", "roofline_and_grad",
]  # fmt: skip

_table = _rules
