"""The steps of a compilation, and a table of observers, which settings switch on.

An unobserved step costs nothing: logs, listeners, notices and explanations are imported when they
are first used.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any, NamedTuple

from minijax.monitoring import COMPILED, LOWERED, TRACED, has_listeners, recorded
from minijax.settings.config import Switch, config
from minijax.settings.later import later
from minijax.settings.options import logged, logs_compiles, no_tracing_option, refused

RETRACED = "retraced"  # a call without a known program; about: the function, and its key
BY_XLA = "by XLA"  # a text that is not in the cache is compiled

_STEPS = frozenset((TRACED, LOWERED, COMPILED))  # by the name of the function


class Observer(NamedTuple):
    """An observer of compilation steps.

    Attributes:
        steps: the observed steps.
        is_asked: returns True if settings switch it on.
        watch: from the step and what it is about to the context in which it runs, or None.
    """

    steps: frozenset[str]
    is_asked: Callable[[], Any]
    watch: Callable[[str, Any], AbstractContextManager[None] | None]


OBSERVERS = (
    Observer(frozenset((RETRACED,)), lambda: Switch.used and no_tracing_option.value, refused),
    Observer(
        frozenset((RETRACED,)),
        lambda: config.explain_cache_misses,
        later("minijax.runtime.notices", "explained"),
    ),
    Observer(_STEPS, has_listeners, recorded),
    Observer(_STEPS, logs_compiles, logged),
    Observer(
        frozenset((BY_XLA,)),
        lambda: config.slow_compile_notice_secs > 0,
        later("minijax.runtime.notices", "noticed_when_slow"),
    ),
)


def observed(step: str, about: Any) -> AbstractContextManager[Any]:
    """The context of a step, with the observers that are switched on."""
    stack = ExitStack()
    for observer in OBSERVERS:
        if step in observer.steps and observer.is_asked():
            context = observer.watch(step, about)
            if context is not None:
                stack.enter_context(context)
    return stack
