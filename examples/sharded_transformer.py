"""Trains the transformer of `transformer.py` on many devices, in whichever layout you choose.

The devices are a mesh of two axes: along `data` they have different texts, along `model` different
parts of each layer. With `--fsdp` the parameters are divided along `data`, too, and gathered when
they are needed. All layouts compute the same, so the losses are those of one device:

    python examples/sharded_transformer.py --data 4 --model 2 --fsdp

With `--checkpoints DIRECTORY` it saves what it has, and goes on from there when it is started
again, in whatever layout.

Without a GPU, the devices are parts of the CPU, 8 unless GLASSJAX_NUM_CPU_DEVICES says otherwise.
Several processes share them like this:

    cd examples
    python -m glassjax.distributed.launch -n 2 --devices-per-process 4 sharded_transformer.py
"""

import argparse
import os
import sys
import time
from functools import partial

os.environ.setdefault("GLASSJAX_NUM_CPU_DEVICES", "8")

import numpy as np
from bars import bar
from transformer import SIZES, init_parameters, load_text, loss, windows

import glassjax.numpy as jnp
from glassjax import (
    NamedSharding,
    P,
    checkpoints,
    distributed,
    eval_shape,
    jit,
    lax,
    make_mesh,
    process_count,
    process_index,
    random,
    set_mesh,
    tree,
    value_and_grad,
)
from glassjax.sharding import AxisType

BATCH_SIZE = 32
STEP_SIZE = 3e-3
DECAY, DECAY_OF_SQUARES = 0.9, 0.99
BY_COMPILER = (AxisType.Auto, AxisType.Auto)  # which divides what is not said


# The layout


def layout(parameters, fsdp):
    """For each parameter the axes of the mesh that divide it.

    What a layer widens is divided along `model` by columns, and what narrows it again by rows, so
    that devices have to communicate only after the second.
    """
    data = "data" if fsdp else None
    columns, rows = P(data, "model"), P("model", data)
    block = {
        "norms": P(),
        "attention": columns,
        "together": rows,
        "widen": columns,
        "narrow": rows,
    }
    return {
        "letters": P(None, "model"),
        "places": P(None, "model"),
        "blocks": [block] * len(parameters["blocks"]),
        "norm": P(),
        "scores": P("model", None),
    }


def on_mesh(mesh, specs):
    """The shardings for specs."""
    return tree.map(lambda spec: NamedSharding(mesh, spec), specs, is_leaf=lambda x: type(x) is P)


# The training


def init_state(key, letters, size):
    """Parameters, and the running means that Adam keeps of gradients and their squares."""
    parameters = init_parameters(key, letters, size["width"], size["blocks"])
    zeros = tree.map(jnp.zeros_like, parameters)
    return {"parameters": parameters, "means": zeros, "squares": zeros}


def adam(i, state, gradient):
    """One step of Adam."""
    means = tree.map(lambda m, g: DECAY * m + (1 - DECAY) * g, state["means"], gradient)
    squares = tree.map(
        lambda s, g: DECAY_OF_SQUARES * s + (1 - DECAY_OF_SQUARES) * g * g,
        state["squares"],
        gradient,
    )
    size = jnp.sqrt(1 - DECAY_OF_SQUARES ** (i + 1)) / (1 - DECAY ** (i + 1))
    parameters = tree.map(
        lambda p, m, s: p - STEP_SIZE * size * m / (jnp.sqrt(s) + 1e-8),
        state["parameters"],
        means,
        squares,
    )
    return {"parameters": parameters, "means": means, "squares": squares}


def train(mesh, options, text, letters, directory=None):
    """The loss at each step, and the final state, in the layout that the options say.

    If a directory for checkpoints is given, the training goes on from the last one there.
    """
    size = SIZES["quick" if options.quick else "full"]
    init_key, data_key = random.split(random.key(options.seed))
    init = partial(init_state, letters=letters, size=size)

    shapes = eval_shape(init, init_key)
    shardings = dict.fromkeys(shapes, on_mesh(mesh, layout(shapes["parameters"], options.fsdp)))

    @partial(jit, donate_argnums=1, out_shardings=(shardings, NamedSharding(mesh, P())))
    def update(i, state, text):
        texts = windows(random.fold_in(data_key, i), text, BATCH_SIZE)
        texts = lax.with_sharding_constraint(texts, NamedSharding(mesh, P("data")))
        value, gradient = value_and_grad(loss)(state["parameters"], texts, size["heads"])
        return adam(i, state, gradient), value

    with set_mesh(mesh):
        state = {"model": jit(init, out_shardings=shardings)(init_key), "losses": np.zeros(0)}
        if directory is not None and (done := checkpoints.latest_step(directory)):
            state = checkpoints.restore(directory, like={**state, "losses": np.zeros(done)})
        losses, seconds = [*state["losses"]], []
        with bar(options.steps - len(losses), is_shown=process_index() == 0) as advance:
            for i in range(len(losses), options.steps):
                start = time.perf_counter()
                state["model"], value = update(jnp.int32(i), state["model"], text)
                losses.append(float(value))
                seconds.append(time.perf_counter() - start)
                advance(f"loss {losses[-1]:.4f}")
                if directory is not None and (i + 1) % options.save_every == 0:
                    saved = {**state, "losses": np.array(losses)}
                    checkpoints.save(directory, i + 1, saved, keep_last=2)
    return np.array(losses), seconds, state["model"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=int, default=4, help="devices with different texts")
    parser.add_argument("--model", type=int, default=2, help="devices that share each layer")
    parser.add_argument("--fsdp", action="store_true", help="divide parameters along data, too")
    parser.add_argument("--seed", type=int, default=0, help="of parameters and texts")
    parser.add_argument("--steps", type=int, help="of the training; 100, or 10 with --quick")
    parser.add_argument("--quick", action="store_true", help="few steps of a smaller network")
    parser.add_argument("--checkpoints", help="directory to save to, and to go on from")
    parser.add_argument("--save-every", type=int, default=5, help="steps between checkpoints")
    options = parser.parse_args()
    options.steps = options.steps or (10 if options.quick else 100)
    if sys.version_info < (3, 12):
        print("On Python 3.11, jaxlib cannot read divided arrays; so this takes one device.")
        options.data = options.model = 1
    if "GLASSJAX_COORDINATOR_ADDRESS" in os.environ:  # by the launcher
        distributed.initialize()
    mesh = make_mesh((options.data, options.model), ("data", "model"), BY_COMPILER)
    letters, text, _ = load_text()

    losses, seconds, state = train(mesh, options, text, len(letters), options.checkpoints)
    if process_index() == 0:
        report(mesh, losses, seconds, state)
    if process_count() == 1:
        compare(losses, options, text, letters)


def report(mesh, losses, seconds, state):
    """Say how it went, and what of the parameters a device holds."""
    parameters = tree.leaves(state["parameters"])
    numbers = sum(x.size for x in parameters)
    here = sum(x.addressable_shards[0].data.size for x in parameters)
    print(f"mesh           {dict(mesh.shape)} in {process_count()} process(es)")
    print(f"parameters     {numbers} numbers, {here} of them on each device")
    print(f"training       {len(seconds)} steps, {1e3 * np.median(seconds):.1f} ms each")
    print("losses        ", " ".join(f"{x:.4f}" for x in losses[:: max(1, len(losses) // 10)]))


def compare(losses, options, text, letters):
    """Train on one device, too, and compare the losses."""
    alone, seconds, _ = train(
        make_mesh((1, 1), ("data", "model"), BY_COMPILER), options, text, len(letters)
    )
    difference = np.abs(losses - alone).max()
    print(f"one device     {1e3 * np.median(seconds):.1f} ms for a step")
    print(f"difference     {difference:.1e} at most, between the losses and those of one device")
    if not difference < 1e-2:
        sys.exit("All layouts should have the same losses.")


if __name__ == "__main__":
    main()
