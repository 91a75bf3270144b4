"""Tables of small cases, beside JAX; cases that an older JAX lacks are skipped."""

import functools
import re

import jax
import rows

IS_OLDER = jax.__version_info__ < (0, 11)
# How an older JAX says that it lacks a name, a parameter or a rule.
LACKS = re.compile(
    "no attribute|cannot import name|No module named|keyword argument|argument:|rule"
)


def is_lack_of_jax(error: BaseException) -> bool:
    """Return True if an older JAX lacks what a test compares with."""
    kinds = AttributeError, ImportError, NotImplementedError, TypeError
    text = str(error)
    return IS_OLDER and isinstance(error, kinds) and (not text or bool(LACKS.search(text)))


for_each = functools.partial(
    rows.for_each, skips=lambda error: rows.is_skip(error) or is_lack_of_jax(error)
)
