"""The recorder for staged programs, and for arrays on the device."""

from glassjax_stage3.abstract_eval import abstract_eval_rules
from glassjax_stage3.array import Array
from glassjax_stage3.lowering import lowering_rules
from glassjax_stage3.printing import all_names
from glassjax_stage3.staging import JaxprTrace, JaxprTracer
from glassjax_watch.recorder import boxed, show
from glassjax_watch.recording import Recording, Shown
from glassjax_watch.stage2 import rules_of_class, shown_array

rules_of_class[JaxprTrace] = abstract_eval_rules
rules_of_class[Array] = lowering_rules  # evaluation compiles their text


@show.register
def _show_staged(x: JaxprTracer, recording: Recording) -> Shown:
    trace = x.interpreter
    arguments = trace.invars if isinstance(trace, JaxprTrace) else []
    *_, name = (recording.name_of(var, trace, all_names()) for var in (*arguments, x.variable))
    return boxed(x, recording, f"{name}:{x.aval}")


@show.register
def _show_array(x: Array, recording: Recording) -> Shown:
    return Shown(shown_array(x))
