"""The decompositions of matrices as the library calls them: integers and booleans become floats.

Users get them from `minijax.lax.linalg`, where most reject these.
"""

import sys as _sys

from minijax.settings.facades import lazy_facade as _lazy_facade

_rooms = _sys.modules["minijax.lax.linalg"].__rooms__.items()
_lazy_facade(
    globals(), {f"minijax.lax.linalg{room}": names for room, names in _rooms if room != "."}
)
