"""The settings of random numbers, under JAX's names. Most of them have only one value here."""

from collections.abc import Iterator

from minijax.settings.config import Fixed, config
from minijax.settings.number_types import NumbersOption
from minijax.settings.reusable_contexts import reusable_context

_default_impl = config.declare(
    "default_prng_impl",
    ("threefry2x32", "rbg", "unsafe_rbg"),
    "threefry2x32",
    "How the bits of keys are made that do not say it themselves.",
    Fixed,
)
_partitionable = config.declare(
    "threefry_partitionable",
    bool,
    True,
    "Whether each random number depends on its place alone, as JAX has it by default.",
    Fixed,
)
custom_prng = config.declare(
    "enable_custom_prng",
    bool,
    False,
    "Whether `random.PRNGKey` makes keys as `random.key` does, in place of two words.",
    NumbersOption,
)


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
        ValueError: JAX has no such implementation.
        NotImplementedError: JAX has it, but only "threefry2x32" is implemented here.

    >>> with minijax.default_prng_impl("threefry2x32"):
    ...     minijax.random.key(42)
    Array((), dtype=key<fry>) overlaying:
    [ 0 42]
    """
    with _default_impl.override(new_val):
        yield


@reusable_context
def threefry_partitionable(new_val: bool = True) -> Iterator[None]:
    """Set `config.threefry_partitionable` for the block of a `with`, in this thread only.

    Raises:
        NotImplementedError: it is `False`, with which JAX draws other numbers.

    >>> with minijax.threefry_partitionable(True):
    ...     minijax.random.uniform(minijax.random.key(42)) < 1
    Array(True, dtype=bool)
    """
    with _partitionable.override(new_val):
        yield
