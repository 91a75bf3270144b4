"""Figures that move: a drawing for each state, and controls by which the reader chooses one.

    def svg() -> str:
        x = Slider("x", [f"{x:g}" for x in XS], start=20)
        return moving("The curve of foo, and its tangent at x", [x], lambda k: at(XS[k]))

`at` returns a `Drawing`, whose title says what this state shows. The drawings of all states have
the same elements, with other attributes or texts; one that a state does not need has the style
`none`. The page gets the first state and, for each attribute that changes, its values.
`docs/assets/figures.js` shows the state that is chosen; without JavaScript the first one stays.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count, product

import numpy as np

from drawing import Drawing, Point

NUMBERS = count()  # of the figures of a page, for the names of radio buttons


@dataclass(frozen=True)
class Slider:
    """A control with a handle; `plays` states a second if the reader presses its button.

    If there are `handles`, a point of the drawing for each value, the drawing can be dragged, too.
    """

    label: str
    values: Sequence[str]
    start: int = 0
    plays: float = 0
    handles: Sequence[Point] = ()

    def html(self, number: int) -> str:
        button = f'<button type="button" data-plays="{self.plays}">Play</button>'
        return (
            f'<label class="slider"><span>{escape(self.label)}</span><input type="range" min="0" '
            f'max="{len(self.values) - 1}" value="{self.start}" data-control="{number}"/></label>'
            f"{button if self.plays else ''}"
        )


@dataclass(frozen=True)
class Choice:
    """A control with a button for each value."""

    label: str
    values: Sequence[str]
    start: int = 0

    def html(self, number: int) -> str:
        name, checked = f"choice-{next(NUMBERS)}", ' checked="checked"'
        buttons = "".join(
            f'<label><input type="radio" name="{name}" value="{index}" data-control="{number}"'
            f"{checked if index == self.start else ''}/>{escape(value)}</label>"
            for index, value in enumerate(self.values)
        )
        return f'<fieldset class="choice"><legend>{escape(self.label)}</legend>{buttons}</fieldset>'


Control = Slider | Choice


def moving(title: str, controls: Sequence[Control], draw: Callable[..., Drawing]) -> str:
    """The figure of which `draw` draws the state with the given index of each control's value."""
    shape = [len(control.values) for control in controls]
    states = np.empty(shape, object)
    for index in product(*map(range, shape)):
        states[index] = draw(*index)
    start = tuple(control.start for control in controls)
    first: Drawing = states[start]
    first_says, first.title = first.title, title
    handles = [list(p) for control in controls for p in getattr(control, "handles", ())]
    says = [first_says if each is first else each.title for each in states.flat]
    data = {"shape": shape, "says": says, "handles": handles, "changes": changes(states)}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return (
        f"<glassjax-figure>{first.svg()}<p>{escape(first_says)}</p>"
        f'<div class="controls">{"".join(c.html(n) for n, c in enumerate(controls))}</div>'
        f'<script type="application/json">{text}</script></glassjax-figure>'
    )


def changes(states: np.ndarray) -> list[list[object]]:
    """What differs: element, attribute, the controls that it depends on, a value for each."""
    alike = {tuple(element.tag for element in state.elements) for state in states.flat}
    assert len(alike) == 1, "the drawings of all states have the same elements"
    found = []
    for number in range(len(states.flat[0].elements)):
        elements = [state.elements[number] for state in states.flat]
        for name in [*elements[0].attributes, ""]:  # no name: what the element contains
            texts = [e.attributes[name] if name else e.content for e in elements]
            values = np.array(texts, object).reshape(states.shape)
            kept = []
            for axis in range(states.ndim):
                one = values.take([0], axis)
                if (values == one).all():
                    values = one
                else:
                    kept.append(axis)
            if kept:
                found.append([number, name, kept, list(values.flat)])
    return found
