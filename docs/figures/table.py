"""The table of primitives and interpreters, and how the stages fill it."""

from drawing import Drawing

ROWS = ["add", "mul", "sin", "…", "reduce_sum", "dot_general", "jit", "cond"]
COLUMNS = ["evaluate", "jvp", "vmap", "stage", "types", "lower", "partial eval", "transpose"]
# The stage in which a row begins; that in which a column does, for stage 1's rows and for others.
ROW = [1, 1, 2, 2, 2, 2, 3, 4]
COLUMN = [(1, 2), (1, 2), (2, 2), (1, 3), (3, 3), (3, 3), (4, 4), (4, 4)]
NOT_LINEAR = {"sin"}  # which has no transpose


def svg() -> str:
    width, height = 40, 27
    left, top = 88, 54
    drawing = Drawing(
        420,
        top + height * len(ROWS) + 44,
        "A table with a row for each primitive and a column for each interpreter. Stage 1 fills "
        "add and mul for evaluation, jvp and staging; stage 2 adds primitives and the column vmap; "
        "stage 3 types and lowering, and jit; stage 4 partial evaluation, transposition, and cond.",
    )
    for j, column in enumerate(COLUMNS):  # long names, so every second one is higher
        at = left + width * (j + 0.5), top - (16 if j % 2 else 36)
        drawing.text(at, column, "small strong")
        if j % 2 == 0:
            drawing.line((at[0], at[1] + 10), (at[0], top - 4), style="faint")
    for i, row in enumerate(ROWS):
        drawing.text((left - 8, top + height * (i + 0.5)), row, "small code", anchor="end")
        for j, column in enumerate(COLUMNS):
            stage = max(ROW[i], COLUMN[j][ROW[i] > 1])
            style = (
                "ghost faint" if column == "transpose" and row in NOT_LINEAR else f"stage-{stage}"
            )
            at = left + width * j + 2, top + height * i + 2
            drawing.box(*at, width - 4, height - 4, style=style, radius=3)
    y = top + height * len(ROWS) + 26
    for stage in range(1, 5):
        x = 40 + (stage - 1) * 94
        drawing.box(x, y - 8, 16, 16, style=f"stage-{stage}", radius=3)
        drawing.text((x + 24, y), f"stage {stage}", "small", anchor="start")
    return drawing.svg()
