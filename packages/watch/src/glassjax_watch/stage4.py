"""The recorder for partial evaluation, with the rules that split primitives."""

from collections.abc import Callable
from typing import Any

from glassjax_stage3.staging import JaxprTrace
from glassjax_stage4.partial_eval import PartialEvalTrace, partial_eval_rules
from glassjax_watch.recorder import rule_of
from glassjax_watch.recording import Rule
from glassjax_watch.stage2 import statement_of


@rule_of.register
def _rule_that_cuts(
    trace: PartialEvalTrace, method: Callable[..., Any], primitive: Any, args: Any
) -> Rule:
    rule = partial_eval_rules.get(primitive)
    if rule is None:  # the primitive is staged as a whole
        return rule_of.dispatch(JaxprTrace)(trace, method, primitive, args)
    return Rule(f"{partial_eval_rules.table}[{primitive}_p]", statement_of(rule, str(primitive)))
