"""Steppers: recorded steps as a part of a page, shown one by one.

`stepper.html` draws them: a custom element, so that a page may have several, in the colors of the
page. It reads the steps from an attribute, and makes no request.
"""

import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glassjax_watch.recording import Shown, Step

_ASSETS = Path(__file__).with_name("stepper.html")


class _Numbered(dict[Any, int]):
    """Assigns numbers to objects, so that shared ones are written once."""

    def __missing__(self, thing: Any) -> int:
        self[thing] = number = len(self)
        return number


def stepper(steps: "Sequence[Step]", left_out: int, fallback: str, words: Any = None) -> str:
    """The stepper of recorded steps; `fallback` is for readers without scripts.

    `words` are its labels, by name, where they differ from the default ones, for interpreters.
    """
    stacks, rules, lines = _Numbered(), _Numbered(), _Numbered()
    recorded = {
        "steps": [
            {
                "primitive": step.primitive,
                "args": [_value(x) for x in step.args],
                "params": step.params,
                "depth": step.depth,
                "stack": stacks[step.stack],
                "level": step.level,
                "rule": None if step.rule is None else rules[step.rule],
                "line": lines[step.place, step.line],
                "results": [_value(x) for x in step.results],
                "error": step.error,
            }
            for step in steps
        ],
        "stacks": [*stacks],
        "rules": [*rules],
        "lines": [*lines],
        "left_out": left_out,
        "words": words or {},
    }
    text = html.escape("\n".join(fallback.splitlines()[:200]))
    return element("glassjax-stepper", f"<pre>{text}</pre>", _ASSETS, recorded)


def _value(x: "Shown") -> Any:
    if x.color is None:
        return x.text
    return [x.kind, x.color, [[name, _value(part)] for name, part in x.parts] or x.text]


def element(name: str, content: str, assets: Path, data: Any = None) -> str:
    """A custom element with its data, and with the assets that define it."""
    attribute = ""
    if data is not None:
        text = json.dumps(data, separators=(",", ":"))
        text = html.escape(text, quote=False).replace("'", "&#x27;")
        attribute = f" data-recorded='{text}'"  # double quotes need no escape
    drawn = f"<{name}{attribute}>{content}</{name}>"
    return f"<div>{drawn}\n{definition(assets)}\n</div>"  # known to Markdown


def definition(assets: Path) -> str:
    """The style and the script that define an element."""
    return assets.read_text(encoding="utf-8").strip()


def page(title: str, body: str) -> str:
    """A whole page."""
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)}</title>
<style>
  body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 64em }}
  body {{ margin: 2em auto; padding: 0 1em }}
</style>
<h1>{html.escape(title)}</h1>
{body}</html>
"""
