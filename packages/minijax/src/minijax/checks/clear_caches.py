"""`clear_caches`: forget everything traced and compiled in this process."""

from minijax.lax.control_flow.program_cache import kept_programs
from minijax.primitives.loops import clear_loops
from minijax.runtime.copied_functions import forget_templates
from minijax.runtime.jit import clear_jitted
from minijax.runtime.program import compile_primitive


def clear_caches() -> None:
    """Clear the caches of traced and compiled programs in this process. Files on disk stay.

    Functions are traced and compiled again at their next call.

    >>> @minijax.jit
    ... def f(x):
    ...     print("traced")
    ...     return x + 1
    >>> y = f(1)
    traced
    >>> y = f(2)
    >>> minijax.clear_caches()
    >>> y = f(3)
    traced
    """
    clear_jitted()
    forget_templates()
    clear_loops()
    kept_programs.clear()
    compile_primitive.cache_clear()
