"""Finds the filter by which an image was blurred, by the gradient of a kernel.

The kernel blurs one tile of the image. Its window on the image is wider than the tile, so that
windows of neighbors overlap, and the gradient of the image is a sum over windows:

    python examples/blur.py

The image is a sheet of handwritten digits, and the filter a comet's tail. Descent begins with a
filter that changes nothing, and sees the sharp and the blurred sheet.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import glassjax
import glassjax.numpy as jnp
from glassjax import jit, lax, value_and_grad
from glassjax.example_libraries import optimizers
from glassjax.experimental import pallas as pl

HERE = Path(__file__).parent
ROWS, COLUMNS, PIXELS = 6, 8, 8  # of the sheet, of a digit
TILE, REACH = 16, 2  # of the blurred image; a filter has 2 * REACH + 1 pixels
STEP_SIZE = 0.02


def load_sheet(rng):
    """An image of digits in rows and columns, from 0 to 1."""
    table = np.loadtxt(HERE / "data" / "digits.csv.gz", delimiter=",", dtype=np.float32)
    chosen = rng.choice(len(table), ROWS * COLUMNS, replace=False)
    digits = table[chosen, :-1].reshape(ROWS, COLUMNS, PIXELS, PIXELS) / 16
    return digits.transpose(0, 2, 1, 3).reshape(ROWS * PIXELS, COLUMNS * PIXELS)


def comet():
    """A filter whose weights fall along a diagonal."""
    at = np.arange(-REACH, REACH + 1)
    along, across = at[:, None] + at, at[:, None] - at
    weights = np.exp(-(across**2) / 1.5 - (along - 2) ** 2 / 10).astype(np.float32)
    return weights / weights.sum()


# The kernel


def blur_tile(window, weights, tile):
    """Weigh the pixels around each pixel of a tile, one distance at a time."""
    tile[...] = jnp.zeros_like(tile)
    for i in range(2 * REACH + 1):
        for j in range(2 * REACH + 1):
            tile[...] += weights[i, j] * window[pl.ds(i, TILE), pl.ds(j, TILE)]


def blur(image, weights):
    """The image blurred by a filter, tile by tile; it is white beyond its edge."""
    height, width = image.shape
    wide = pl.Element(TILE + 2 * REACH)
    return pl.pallas_call(
        blur_tile,
        out_shape=glassjax.ShapeDtypeStruct(image.shape, image.dtype),
        grid=(height // TILE, width // TILE),
        in_specs=[
            pl.BlockSpec((wide, wide), lambda i, j: (i * TILE, j * TILE)),
            pl.no_block_spec,
        ],
        out_specs=pl.BlockSpec((TILE, TILE), lambda i, j: (i, j)),
    )(jnp.pad(image, REACH), weights)


# The descent


def loss(weights, sharp, blurred):
    return jnp.mean((blur(sharp, weights) - blurred) ** 2)


def find_filter(sharp, blurred, steps):
    """The filter after a number of steps of Adam, and the loss at each of them."""
    nothing = jnp.zeros((2 * REACH + 1,) * 2, jnp.float32).at[REACH, REACH].set(1.0)
    optimizer = optimizers.adam(STEP_SIZE)

    def descend(state, step):
        error, slope = value_and_grad(loss)(optimizer.params_fn(state), sharp, blurred)
        return optimizer.update_fn(step, slope, state), error

    state, errors = lax.scan(descend, optimizer.init_fn(nothing), jnp.arange(steps))
    return optimizer.params_fn(state), errors


def draw(path, images):
    """Write a picture of the images, each below its name."""
    try:
        import matplotlib
    except ImportError:
        return "none: matplotlib is not installed"
    matplotlib.use("Agg")  # draws without a screen
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(images), figsize=(12, 3), layout="constrained")
    for ax, (name, image) in zip(axes, images.items(), strict=True):
        ax.imshow(image, cmap="gray_r")
        ax.set_title(name)
        ax.set_axis_off()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="of the digits that are chosen")
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    options = parser.parse_args()

    sharp, true = load_sheet(np.random.default_rng(options.seed)), comet()
    blurred = blur(sharp, true)
    start = time.perf_counter()
    steps = 150 if options.quick else 600
    found, errors = jit(find_filter, static_argnums=2)(sharp, blurred, steps)
    print(f"loss            {errors[0]:.2e} at first, {errors[-1]:.2e} after {steps} steps")
    print(f"filter          within {np.abs(found - true).max():.4f} of the true one")
    print(f"time            {time.perf_counter() - start:.1f} s with compiling")
    images = {"sharp": sharp, "blurred": blurred, "true filter": true, "found filter": found}
    print(f"picture         {draw(HERE / 'output' / 'blur.png', images)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
