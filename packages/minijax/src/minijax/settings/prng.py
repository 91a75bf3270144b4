"""The settings of random numbers, under JAX's names."""

from collections.abc import Iterator

from minijax.settings.config import config
from minijax.settings.key_types import Implementation, named
from minijax.settings.number_types import NumbersOption
from minijax.settings.reusable_contexts import reusable_context

_default_impl = config.declare(
    "default_prng_impl",
    ("threefry2x32", "rbg", "unsafe_rbg"),
    "threefry2x32",
    "How the bits of keys are made that do not say it themselves.",
    NumbersOption,
)
partitionable = config.declare(
    "threefry_partitionable",
    bool,
    True,
    "Whether each random number of threefry2x32 depends on its place alone.",
    NumbersOption,
)
custom_prng = config.declare(
    "enable_custom_prng",
    bool,
    False,
    "Whether `random.PRNGKey` makes keys as `random.key` does, in place of words of uint32.",
    NumbersOption,
)
seed_offset = config.declare(
    "random_seed_offset", int, 0, "A number that is added to the seeds of keys.", NumbersOption
)
legacy_key = config.declare(
    "legacy_prng_key",
    ("allow", "warn", "error"),
    "allow",
    "Whether words of uint32 may stand for a random key, with a warning, or are an error.",
    NumbersOption,
)


def default_implementation() -> Implementation:
    """The implementation of keys that do not say it themselves."""
    return named[_default_impl.value]


@reusable_context
def enable_custom_prng(new_val: bool = True) -> Iterator[None]:
    """Set `config.enable_custom_prng` for the block of a `with`, in this thread only.

    >>> from minijax import random
    >>> with enable_custom_prng():
    ...     random.PRNGKey(0).shape
    ()
    """
    with custom_prng.override(new_val):
        yield


@reusable_context
def default_prng_impl(new_val: str) -> Iterator[None]:
    """Set `config.default_prng_impl` for the block of a `with`, in this thread only.

    Raises:
        ValueError: there is no such implementation.

    >>> with minijax.default_prng_impl("rbg"):
    ...     minijax.random.key(42)
    Array((), dtype=key<rbg>) overlaying:
    [ 0 42  0 42]
    """
    with _default_impl.override(new_val):
        yield


@reusable_context
def threefry_partitionable(new_val: bool = True) -> Iterator[None]:
    """Set `config.threefry_partitionable` for the block of a `with`, in this thread only.

    If it is `False`, keys of threefry2x32 give the numbers that they gave in JAX before 0.5.

    >>> from minijax import random
    >>> with minijax.threefry_partitionable(False):
    ...     random.uniform(random.key(42))
    Array(0.42672753, dtype=float32)
    """
    with partitionable.override(new_val):
        yield


@reusable_context
def legacy_prng_key(new_val: str = "allow") -> Iterator[None]:
    """Set `config.legacy_prng_key` for the block of a `with`, in this thread only.

    Arguments:
        new_val: "allow", "warn" or "error": what functions of `minijax.random` do with words of
            uint32 in place of a key.

    >>> from minijax import random
    >>> with minijax.legacy_prng_key("error"):
    ...     random.uniform(random.key(0)) < 1
    Array(True, dtype=bool)
    """
    with legacy_key.override(new_val):
        yield
