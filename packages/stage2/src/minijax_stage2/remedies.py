"""The ways out of a mistake, in the names that its user knows."""

from typing import NamedTuple


class Remedies(NamedTuple):
    """Advice in messages. A later package that has other names for it advises its own.

    Attributes:
        branch: where the truth of a traced value is needed.
        integer: where a Python integer is needed of one.
        numpy: where numpy is given one.
        value: where another Python value is needed of one.
        wide: where an int has too many bits.
    """

    branch: str = (
        "Use where(condition, x, y), or cond(condition, f, g, *operands) from stage 4 on, or let "
        "the branch depend on static values only."
    )
    integer: str = (
        "Pass the integer as a static argument, by static_argnums or static_argnames of jit, or "
        "close over it. To make integers of other numbers use astype."
    )
    numpy: str = (
        "Use the functions of this package in place of numpy's, or move what needs the numbers "
        "out of the transformed function."
    )
    value: str = (
        "Keep it an array: the functions and operators of this package take scalars and arrays "
        "alike."
    )
    wide: str = "use a float"
