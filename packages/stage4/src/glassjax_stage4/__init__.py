"""Stage 4: reverse-mode differentiation, by partial evaluation and transposition.

`linearize`, `vjp`, `grad`, `cond`; and the other road to the same gradients, a tape
(`glassjax_stage4.tape`). No new dependencies.
"""

# ruff: noqa: F401, F403, F405, RUF022
from glassjax_stage2.source import hide_frames_of
from glassjax_stage4 import cond_rules as _cond_rules
from glassjax_stage4 import jit_rules as _jit_rules
from glassjax_stage4 import transpose_rules as _transpose_rules
from glassjax_stage4.cond import *
from glassjax_stage4.errors import *
from glassjax_stage4.grad import *
from glassjax_stage4.jacobian import *
from glassjax_stage4.linearize import *
from glassjax_stage4.partial_eval import *
from glassjax_stage4.stop_gradient import *
from glassjax_stage4.transpose import *

__all__ = [
    # cond
    "cond", "cond_p",
    # errors
    "NonlinearError",
    # grad
    "grad", "value_and_grad", "vjp",
    # jacobian
    "hessian", "jacobian", "jacrev",
    # linearize
    "linearize",
    # partial_eval
    "PartialJaxprs", "PartialVal", "partial_eval", "partial_eval_jaxpr", "partial_eval_rules",
    "typecheck_partial_eval",
    # stop_gradient
    "stop_gradient", "stop_gradient_p",
    # transpose
    "UndefPrimal", "backward_pass", "deftranspose", "linear_transpose", "transpose_rules",
]  # fmt: skip

hide_frames_of(__file__)
