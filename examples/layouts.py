"""What a training step of a large transformer takes on each of many devices, by layout.

Nothing is computed, and the devices need not be there. For one size and mesh, or for many:

    python -m glassjax.plan examples/layouts.py --mesh data=64,model=8 billions=8 fsdp=True
    python examples/layouts.py

Along the axis `data` of the mesh the batch is divided; along `model`, the work in each block: heads
of the attention, and the hidden layer. With `fsdp=True` each weight is also divided along `data`,
and so are the two moments that Adam keeps of its gradients; the devices gather what a block needs.
"""

import argparse
import math

import glassjax.numpy as jnp
from glassjax import P, ShapeDtypeStruct, checkpoint, jit, lax, nn, tree, value_and_grad
from glassjax.experimental import plan
from glassjax.sharding import AbstractMesh, AxisType, use_abstract_mesh

SIZES = {  # by billions of parameters: blocks, width, width of the hidden layer, heads
    1: (14, 2048, 8192, 32),
    8: (32, 4096, 14336, 32),
    70: (80, 8192, 24576, 64),
}
TOKENS = 32768  # different ones
TEXTS, CONTEXT = 512, 2048  # of a batch
STEP_SIZE, DECAYS = 1e-3, (0.9, 0.99)


def shapes(billions):
    """For each weight its shape, the axis of its inputs, and the axis along which work divides."""
    blocks, width, hidden, heads = SIZES[billions]
    attention = (blocks, width, heads, width // heads), 1, 2
    return {
        "embedding": ((TOKENS, width), 0, 1),
        "scores": ((width, TOKENS), 0, 1),
        "blocks": {
            "norms": ((blocks, 2, width), 2, None),
            "questions": attention,
            "answers": attention,
            "values": attention,
            "together": ((blocks, heads, width // heads, width), 3, 1),
            "gate": ((blocks, width, hidden), 1, 2),
            "widen": ((blocks, width, hidden), 1, 2),
            "narrow": ((blocks, hidden, width), 2, 1),
        },
    }


def normalize(x, scale=1.0):
    return x * scale * lax.rsqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-6)


@checkpoint
def block(x, weights):
    """One block of the transformer; its activations are computed again for the gradient."""
    y = normalize(x, weights["norms"][0])
    questions, answers, values = (
        jnp.einsum("bsw,whd->bshd", y, weights[name]) for name in ("questions", "answers", "values")
    )
    fits = jnp.einsum("bqhd,bkhd->bhqk", questions, answers) / math.sqrt(values.shape[-1])
    is_past = jnp.tril(jnp.ones(fits.shape[-2:], bool))
    attention = nn.softmax(jnp.where(is_past, fits, -1e30))
    taken = jnp.einsum("bhqk,bkhd->bqhd", attention, values)
    x = x + jnp.einsum("bshd,hdw->bsw", taken, weights["together"])
    y = normalize(x, weights["norms"][1])
    return x + (nn.silu(y @ weights["gate"]) * (y @ weights["widen"])) @ weights["narrow"], None


def loss(weights, texts):
    x = lax.with_sharding_constraint(weights["embedding"][texts[:, :-1]], P("data"))
    x, _ = lax.scan(block, x, weights["blocks"])
    log_probabilities = nn.log_softmax(normalize(x) @ weights["scores"])
    return -jnp.mean(jnp.take_along_axis(log_probabilities, texts[:, 1:, None], axis=-1))


def step(weights, moments, texts):
    """A step of Adam: new weights, their moments, and the loss."""
    value, gradient = value_and_grad(loss)(weights, texts)
    moments = [
        tree.map(lambda m, g, d=decay, n=power: d * m + (1 - d) * g**n, old, gradient)
        for old, decay, power in zip(moments, DECAYS, (1, 2), strict=True)
    ]
    weights = tree.map(lambda w, m, v: w - STEP_SIZE * m * lax.rsqrt(v + 1e-16), weights, *moments)
    return weights, moments, value


# --8<-- [start:protocol]
def step_and_arguments(mesh, billions=1, fsdp=False, texts=TEXTS, context=CONTEXT):
    """The step, and types of its arguments that say how these are divided."""

    def struct(entry):
        shape, inputs, work = entry
        axes: list[str | None] = [None] * len(shape)
        if fsdp:
            axes[inputs] = "data"
        if work is not None and "model" in mesh.axis_names:
            axes[work] = "model"
        return ShapeDtypeStruct(shape, "float32", sharding=P(*axes))

    weights = tree.map(struct, shapes(billions), is_leaf=lambda x: isinstance(x, tuple))
    where = tree.map(lambda w: w.sharding, weights)
    batch = ShapeDtypeStruct((texts, context + 1), "int32", sharding=P("data"))
    stays = (where, [where, where], P())
    return jit(step, donate_argnums=(0, 1), out_shardings=stays), (weights, [weights] * 2, batch)


# --8<-- [end:protocol]


# The comparison

MESHES = ({"data": 512}, {"data": 128, "model": 4}, {"data": 64, "model": 8})
HEAD = "billions  mesh              layout  state  temps    peak  PFLOP    data  model"


def row(billions, sizes, fsdp, **batch):
    """A line of the table: gigabytes, and floating-point operations, of each device."""
    mesh = AbstractMesh(tuple(sizes.values()), tuple(sizes), (AxisType.Auto,) * len(sizes))
    with use_abstract_mesh(mesh):
        function, arguments = step_and_arguments(mesh, billions, fsdp, **batch)
        found = plan(function, *arguments)
    sent = {"data": 0, "model": 0}
    for each in found.collectives:
        sent["data" if "data" in each.axes else "model"] += each.times * each.bytes_sent
    arguments_bytes = sum(found.argument_bytes.values())
    parts = [arguments_bytes, found.temporary_bytes, found.peak_bytes, *sent.values()]
    state, temporaries, peak, data, model = (part / 1e9 for part in parts)
    axes = ",".join(f"{name}={size}" for name, size in sizes.items())
    return (
        f"{billions:8}  {axes:16}  {'fsdp' if fsdp else 'copies':6}  {state:5.1f}  "
        f"{temporaries:5.1f}  {peak:6.1f}  {found.flops / 1e15:5.3f}  {data:6.1f}  {model:5.1f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one size, on eight devices")
    print(HEAD)
    if parser.parse_args().quick:
        print(row(1, {"data": 4, "model": 2}, True, texts=8, context=64))
        return
    for billions in SIZES:
        for sizes in MESHES:
            for fsdp in (False, True):
                print(row(billions, sizes, fsdp), flush=True)


if __name__ == "__main__":
    main()
