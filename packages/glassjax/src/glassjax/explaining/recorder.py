"""The recorder of the stages, adapted to the evaluation of this library."""

from typing import Any

from glassjax.errors.tracebacks import hide_frames
from glassjax.runtime.array import is_evaluating, tree_to_arrays
from glassjax.runtime.evaluation import DeviceTrace, library_evaluation
from glassjax.runtime.jit import PjitFunction
from glassjax.runtime.operation import Operation
from glassjax.runtime.templates import JaxprTrace
from glassjax.settings.number_types import types_in_function
from glassjax_stage3 import lowering_rules
from glassjax_watch.recorder import is_recorded, watched
from glassjax_watch.recorder import record as record
from glassjax_watch.stage2 import rules_of_class

rules_of_class[DeviceTrace] = lowering_rules  # evaluation compiles their text


def _call_recorded(function: PjitFunction, *args: Any, **kwargs: Any) -> Any:
    """Call a jitted function as one operation, but a library function as its primitives."""
    if not (is_recorded() and is_evaluating()):
        return function._call_by_python(*args, **kwargs)
    try:
        if not isinstance(function, Operation):
            with library_evaluation():
                return tree_to_arrays(function._bind(args, kwargs))
        with library_evaluation(types_in_function()):
            return tree_to_arrays(function._fun(*args, **kwargs))
    except Exception as error:
        hide_frames(error)
        raise


watched[PjitFunction] = {"__call__": _call_recorded}
watched[JaxprTrace] = {"takes_templates": False}  # functions run, so that rules are recorded
