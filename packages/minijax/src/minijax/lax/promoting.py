"""The functions of `lax` as the library calls them, with promotion of operands.

Users get them from `minijax.lax`, where those of `strict` replace some.
"""

import sys as _sys

from minijax.settings.facades import lazy_facade as _lazy_facade

_rooms = _sys.modules["minijax.lax"].__rooms__.items()
_lazy_facade(
    globals(),
    {
        f"minijax.lax{room}" if room.startswith(".") else room: names
        for room, names in _rooms
        if room != "."
    },
)
