"""A function while it is staged: its lines on the left, the equations they leave on the right."""

import inspect
import sys

from moving import Slider, moving

from drawing import Drawing
from glassjax_stage1 import add, build_jaxpr, mul

LINE = 24


def f(x):
    for i in range(3):
        if i == 1:  # noqa: SIM108
            x = add(x, 1.0)
        else:
            x = mul(x, x)
    return x


def steps() -> tuple[list[tuple[int, int]], str]:
    """Each line that ran, with the number of equations by then, and the program."""
    lines, first, count = [], f.__code__.co_firstlineno, 0

    def count_calls(g):
        def counted(*args):
            nonlocal count
            count += 1
            return g(*args)

        return counted

    def trace(frame, event, arg):
        if frame.f_code is not f.__code__:
            return None
        if event == "line":
            lines.append((frame.f_lineno - first, count))
        return trace

    before = f.__globals__["add"], f.__globals__["mul"]
    f.__globals__.update(add=count_calls(add), mul=count_calls(mul))
    old = sys.gettrace()
    sys.settrace(trace)
    try:
        program = build_jaxpr(f, 1)
    finally:
        sys.settrace(old)
        f.__globals__.update(zip(("add", "mul"), before, strict=True))
    return lines, str(program)


STEPS, PROGRAM = steps()


def at(step: int) -> Drawing:
    source = [line.partition("  #")[0] for line in inspect.getsource(f).splitlines()]
    program = PROGRAM.replace("Op.", "").splitlines()
    number, done = STEPS[step]
    is_last = step == len(STEPS) - 1
    says = f"line {number + 1}; {done} equation{'' if done == 1 else 's'} so far"
    drawing = Drawing(420, 234, says)
    drawing.text((12, 16), "Python runs", "small strong", anchor="start")
    drawing.text((226, 16), "what is left", "small strong", anchor="start")
    drawing.box(8, 32, 210, LINE * len(source) + 20)
    drawing.box(224, 32, 184, LINE * len(source) + 20, style="stage-3")
    for k, line in enumerate(source):
        y = 54 + LINE * k
        drawing.box(11, y - 11, 204, 22, style="stage-1" if k == number else "none", radius=3)
        drawing.text((17, y), line, "small code", anchor="start")
    is_new = step > 0 and done > STEPS[step - 1][1]
    for k, line in enumerate(program):
        is_there = k <= done or is_last
        lit = k == done and is_new and k > 0
        drawing.text(
            (236, 54 + LINE * k), line, f"small code {'strong' if lit else ''}" if is_there
            else "small code none", anchor="start",
        )  # fmt: skip
    return drawing


def svg() -> str:
    slider = Slider("step", [str(k + 1) for k in range(len(STEPS))], len(STEPS) - 1, 2)
    return moving(
        "A function with a loop and a branch on the left, and its jaxpr on the right: three "
        "equations, one for each operation that ran. The loop and the branch are gone.",
        [slider],
        at,
    )
