"""Three ways to break a program, each with what the verifier finds."""

import numpy as np

from drawing import Drawing, panels
from glassjax_stage2 import ShapedArray, exp, sin
from glassjax_stage3 import Jaxpr, JaxprEqn, Var, make_jaxpr, typecheck_jaxpr

good = make_jaxpr(lambda x: exp(sin(x)))(np.ones(3))
FIRST, SECOND = good.eqns
FOUR = Var(ShapedArray((4,), "float64"))
WRONG_TYPE = JaxprEqn(FIRST.primitive, FIRST.invars, [FOUR], {})

NOT_BOUND = "is used before it is bound"
TWICE = "is bound twice"
TYPE = "its results have types"
CASES = [
    ("1  used before it is bound", [SECOND, FIRST], ["c = exp b", "b = sin a"], 0, NOT_BOUND),
    ("2  bound twice", [FIRST, SECOND, SECOND], ["b = sin a", *["c = exp b"] * 2], 2, TWICE),
    ("3  another type than its rule's", [WRONG_TYPE], ["d:f64[4] = sin a"], 0, TYPE),
]
NOTES = {"1": "b has no value yet", "2": "which c?", "3": "sin of f64[3] is f64[3]"}


def found(equations: list[JaxprEqn]) -> str:
    """What the verifier says of a program."""
    try:
        typecheck_jaxpr(Jaxpr([], good.invars, equations, good.outvars))
    except TypeError as error:
        return str(error).splitlines()[0]
    return "nothing"


def panel(title: str, equations: list[JaxprEqn], lines: list[str], wrong: int, says: str):
    assert says in found(equations), f"{title}: the verifier finds {found(equations)}"
    text = "\n".join(lines)
    drawing = Drawing(230, 150, f"{title[3:]}: {text}; equation {wrong + 1} is wrong")
    drawing.text((8, 16), title, "small strong", anchor="start")
    drawing.box(6, 32, 218, 112)
    drawing.text((18, 50), "a:f64[3] ->", "small code faint", anchor="start")
    for k, line in enumerate(lines):
        y = 76 + 24 * k
        if k == wrong:
            drawing.box(12, y - 11, 206, 22, style="stage-2", radius=3)
        drawing.text((26, y), line, "small code", anchor="start")
    drawing.text((212, 50), NOTES[title[0]], "small stage-2", anchor="end")
    return drawing


def svg() -> str:
    return panels(*(panel(*case) for case in CASES))
