"""The steps of a compilation, and in one table those who look on, if they are asked to.

A step that nobody looks at enters nothing: logs, listeners, notices and explanations are imported
with their first use.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any, NamedTuple

from minijax.monitoring import COMPILED, LOWERED, TRACED, has_listeners, recorded
from minijax.settings.config import Switch, config
from minijax.settings.later import later
from minijax.settings.options import logged, logs_compiles, no_tracing_option, refused

RETRACED = "retraced"  # no program is known for a call: the function, and what it looks up
BY_XLA = "by XLA"  # a text is compiled, as it is not in the cache

_STEPS = frozenset((TRACED, LOWERED, COMPILED))  # by the name of the function


class Observer(NamedTuple):
    """One who looks on.

    Attributes:
        steps: at which steps.
        is_asked: returns True if settings ask for it.
        watch: told the step and what it is about, returns the context in which it runs, if any.
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
    """The context of a step, in which those look on that are asked to."""
    stack = ExitStack()
    for observer in OBSERVERS:
        if step in observer.steps and observer.is_asked():
            context = observer.watch(step, about)
            if context is not None:
                stack.enter_context(context)
    return stack
