"""What a call is made of: for each public function, a recipe that draws arguments it accepts."""

from fuzzing.search.recipes import (
    collectives,
    control_flow,
    creation,
    elementwise,
    functions,
    gather_scatter,
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
    training,
    trees,
)
from fuzzing.search.recipes.forms import Recipe

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
        collectives,
        gather_scatter,
        functions,
        trees,
        nn,
        linalg,
        signal,
        special,
        random,
        statistics,
        training,
    )
    for name, recipe in module.RECIPES.items()
}
