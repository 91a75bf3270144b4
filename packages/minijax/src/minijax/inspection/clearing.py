"""`clear_caches`: as if nothing had been traced and compiled in this process."""

from minijax.jit import clear_jitted
from minijax.lax.loops import clear_loops
from minijax_stage3.executable import compile_primitive


def clear_caches() -> None:
    """Forgets what was traced and compiled in this process. Files on disk stay."""
    clear_jitted()
    clear_loops()
    compile_primitive.cache_clear()  # type: ignore[attr-defined]
