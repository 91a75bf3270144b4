"""Extending the library: primitives, traces, types, jaxprs, and tables of rules."""

# ruff: noqa: F403
from minijax.primitives.extending import *
from minijax.runtime.evaluation import (
    ensure_compile_time_eval as ensure_compile_time_eval,
)
from minijax.runtime.evaluation import eval_context as eval_context
from minijax.settings.names import set_all_of_facade as _set_all_of_facade

_set_all_of_facade(globals())
