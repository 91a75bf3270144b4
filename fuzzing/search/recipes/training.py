"""Optimizers and layers of the example libraries."""

from fuzzing.search.arguments import Arguments, call
from fuzzing.search.recipes.forms import Recipe, recipes


def optimizer(*parameters: str) -> Recipe:
    """Two steps of an optimizer."""

    def recipe(a: Arguments, name: str) -> str:
        x = a.array("f", domain="tame")
        g = a.same_type(x)
        steps = f"o[2](o[1](1, {g}, o[1](0, {g}, o[0]({x}))))"
        return f"(lambda o: {steps})({call(name, *parameters)})"

    return recipe


def schedule(*parameters: str) -> Recipe:
    return lambda a, name: f"{call(name, *parameters)}({a.number(0, 5)})"


def clip_grads(a: Arguments, name: str) -> str:
    return call(name, f"[{a.array('f')}, {a.array('f')}]", "1.5")


def l2_norm(a: Arguments, name: str) -> str:
    return call(name, f"[{a.array('f')}, {a.array('fi')}]")


# Layers by name: the source of one, and the shape of its input.
VECTORS, IMAGES = (2, 3), (1, 4, 4, 2)
LAYERS = {
    "Dense": ("{}(2)", VECTORS),
    "elementwise": ("{}(jnp.tanh)", VECTORS),
    "BatchNorm": ("{}(axis=0)", VECTORS),
    "Dropout": ("{}(0.5, mode='test')", VECTORS),
    "serial": ("{}(jax.example_libraries.stax.Dense(2), jax.example_libraries.stax.Relu)", VECTORS),
    "shape_dependent": ("{}(lambda shape: jax.example_libraries.stax.Dense(shape[-1]))", VECTORS),
    "GeneralConv": ("{}(('NHWC', 'HWIO', 'NHWC'), 2, (2, 2), padding='SAME')", IMAGES),
    "GeneralConvTranspose": ("{}(('NHWC', 'HWIO', 'NHWC'), 2, (2, 2), (2, 1))", IMAGES),
    "AvgPool": ("{}((2, 2), (1, 2))", IMAGES),
    "MaxPool": ("{}((2, 2))", IMAGES),
    "SumPool": ("{}((2, 2), padding='SAME')", IMAGES),
}


def layer(a: Arguments, name: str) -> str:
    source, shape = LAYERS[name.rpartition(".")[2]]
    x = a.array("f", shape=shape, dtype="float32", domain="tame")
    key = a.key()
    run = f"l[1](l[0]({key}, {shape})[1], {x}, rng={key})"
    return f"(lambda l: {run})({source.format(name)})"


def several(a: Arguments, name: str) -> str:
    """The layers of several branches: one that fans out, two, and one that joins them."""
    stax = "jax.example_libraries.stax"
    x = a.array("f", shape=VECTORS, dtype="float32", domain="tame")
    both = f"{stax}.parallel({stax}.Dense(2), {stax}.Identity)"
    made = f"{stax}.serial({stax}.FanOut(2), {both}, {stax}.FanInConcat())"
    return f"(lambda l: l[1](l[0]({a.key()}, {VECTORS})[1], {x}))({made})"


RECIPES: dict[str, Recipe] = {
    **recipes(
        "jax.example_libraries.optimizers",
        [
            (optimizer("0.125"), "adagrad adam adamax sgd"),
            (optimizer("0.125", "0.9"), "momentum nesterov rmsprop rmsprop_momentum"),
            (schedule("0.5"), "constant make_schedule"),
            (schedule("0.5", "2", "0.9"), "exponential_decay inverse_time_decay"),
            (schedule("0.5", "4", "0.1"), "polynomial_decay"),
            (schedule("[2, 4]", "[0.5, 0.25, 0.125]"), "piecewise_constant"),
            (clip_grads, "clip_grads"),
            (l2_norm, "l2_norm"),
        ],
    ),
    **recipes(
        "jax.example_libraries.stax",
        [(layer, " ".join(LAYERS)), (several, "parallel FanOut FanInConcat")],
    ),
}
