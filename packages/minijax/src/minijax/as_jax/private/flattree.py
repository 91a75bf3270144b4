"""Trees with their leaves, as JAX's equations of loops hold them; those of minijax hold counts."""

from typing import NoReturn


def __getattr__(name: str) -> NoReturn:
    """Raise an error that says what equations have in its place."""
    raise AttributeError(
        f"jax._src.flattree has no {name!r} here: an equation of `scan` has the parameters "
        "`num_consts` and `num_carry` in place of flat trees"
    )
