"""What a call is made of: for each public function, a recipe that draws arguments it accepts."""

from nets.fuzzing.recipes import (
    control_flow,
    creation,
    elementwise,
    indexing,
    lax,
    linalg,
    nn,
    products,
    random,
    reductions,
    shapes,
    signal,
    sorting,
    special,
    statistics,
)
from nets.fuzzing.recipes.forms import Recipe

RECIPES: dict[str, Recipe] = {
    name: recipe
    for module in (
        elementwise,
        reductions,
        shapes,
        indexing,
        sorting,
        products,
        creation,
        lax,
        control_flow,
        nn,
        linalg,
        signal,
        special,
        random,
        statistics,
    )
    for name, recipe in module.RECIPES.items()
}
