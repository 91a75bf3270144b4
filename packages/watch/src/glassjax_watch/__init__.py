"""glassjax_watch: programs of glassjax, recorded operation by operation and drawn.

`record` works beside any stage, and needs only the first; `in_color`, `to_html` and `to_dot` show
the programs of stage 3.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glassjax_watch.graphviz import to_dot
    from glassjax_watch.highlighting import in_color, to_html, wants_color
    from glassjax_watch.recorder import record
    from glassjax_watch.recording import Recording

_MODULES = {
    "Recording": "recording",
    "in_color": "highlighting",
    "record": "recorder",
    "to_dot": "graphviz",
    "to_html": "highlighting",
    "wants_color": "highlighting",
}


def __getattr__(name: str) -> Any:
    """The functions of this package, imported on demand: drawing programs needs stage 3."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"glassjax_watch.{_MODULES[name]}"), name)


__all__ = ["Recording", "in_color", "record", "to_dot", "to_html", "wants_color"]
