"""dm-haiku's reader of programs, which lists the operations of each module."""

import haiku as hk
import jax
import jax.numpy as jnp
from haiku.experimental import jaxpr_info

DISTRIBUTION = "dm-haiku"


def network(x):
    hidden = jnp.tanh(hk.Linear(8, name="first")(x))
    return jnp.sum(hk.Linear(3, name="last")(hidden) ** 2)


def operations(expression):
    """A primitive, or the module that its operations belong to."""
    name = getattr(expression, "primitive", "module")
    module = getattr(expression, "submodule", None)
    return name if module is None else [name, *map(operations, module.expressions)]


def main():
    model = hk.without_apply_rng(hk.transform(network))
    x = jnp.ones((2, 4))
    params = model.init(jax.random.key(0), x)
    info = jaxpr_info.make_model_info(model.apply)(params, x)
    return {
        "operations": list(map(operations, info.expressions)),
        "lines": len(jaxpr_info.format_module(info).splitlines()),
    }
