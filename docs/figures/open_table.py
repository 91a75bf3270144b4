"""Two authors add to the table of rules: one a row, the other a column."""

from moving import Slider, moving

from drawing import Drawing

COLUMNS = ["evaluation", "jvp", "vmap", "bounds"]
RULES = {
    "sin": ["np.sin(x)", "t * cos(x)", "elementwise", "[-1, 1]"],
    "mul": ["x * y", "t*y, x*t", "align", "4 products"],
    "neg": ["-x", "-t", "elementwise", "swap ends"],
    "tanh": ["np.tanh(x)", "t*(1-y*y)", "elementwise", "both ends"],
}
STATES = [
    "The table of the library: a rule in each cell",
    "You add a primitive, tanh: one row, in your own file",
    "Another author adds an interpreter, bounds: one column",
    "The rule of bounds for tanh is missing: an error names it",
    "One more line, by either of you, adds that rule",
]
WIDTH, HEIGHT = 88, 30


def stage_of(row: int, column: int) -> int:
    """The state from which a cell is filled."""
    new_row, new_column = row == 3, column == 3
    return 4 if new_row and new_column else 1 if new_row else 2 if new_column else 0


def at(state: int) -> Drawing:
    drawing = Drawing(420, 226, STATES[state])
    left, top = 62, 56
    for j, column in enumerate(COLUMNS):
        is_there = j < 3 or state >= 2
        look = "small strong" if j < 3 else "small stage-4"
        drawing.text((left + WIDTH * (j + 0.5), top - 14), column, look if is_there else "none")
    for text, style, at in (
        ("another author's", "small stage-4" if state >= 2 else "none", (left + WIDTH * 3.5, 18)),
        ("yours", "small stage-2" if state >= 1 else "none", (left - 8, top + HEIGHT * 4.55)),
    ):
        drawing.text(at, text, style, anchor="middle" if at[1] == 18 else "end")
    for i, (row, rules) in enumerate(RULES.items()):
        is_there = i < 3 or state >= 1
        look = "small code" if i < 3 else "small code stage-2"
        at = left - 8, top + HEIGHT * (i + 0.5)
        drawing.text(at, row, look if is_there else "none", anchor="end")
        for j, rule in enumerate(rules):
            since = stage_of(i, j)
            is_filled, is_missing = state >= since, i == j == 3 and state == 3
            style = ["plain", "stage-2", "stage-4", "", "stage-3"][since]
            box = drawing.box(
                left + WIDTH * j + 2,
                top + HEIGHT * i + 2,
                WIDTH - 4,
                HEIGHT - 4,
                style=style if is_filled else "ghost stage-2" if is_missing else "none",
                radius=3,
            )
            text = rule if is_filled else "MissingRule" if is_missing else " "
            drawing.text(box.center, text, "small code")
    return drawing


def svg() -> str:
    states = [str(k + 1) for k in range(len(STATES))]
    return moving(
        "A table of rules with a row for each primitive and a column for each interpreter. One "
        "author adds a row, another one a column; where they meet, a cell is empty at first.",
        [Slider("step", states, len(states) - 1, 0.4)],
        at,
    )
