"""A drum, compiled by your `jit`.

The skin of a drum is a grid of points, each pulled towards its four neighbors. Sixteen steps of
its motion are one program, which your code stages, lowers and compiles once, and then runs again
and again.
"""

import numpy as np

from glassjax_stage3 import jit

SIZE, SPEED, STEPS = 38, 0.35, 16
SHADES = "@%#*+=-:. .:-=+*#%@"  # from far below to far above

# The sum of the two neighbors in a column, less the point twice; the rim does not move.
LAPLACIAN = np.eye(SIZE, k=1) + np.eye(SIZE, k=-1) - 2 * np.eye(SIZE)


def move(height, velocity):
    """A few steps of the skin's motion."""
    for _ in range(STEPS):
        force = LAPLACIAN @ height + height @ LAPLACIAN
        velocity = velocity + SPEED * force
        height = height + SPEED * velocity
    return height, velocity


def energy(height, velocity):
    """What does not change, up to the error of a step."""
    force = LAPLACIAN @ height + height @ LAPLACIAN
    return float(np.sum(velocity * velocity - height * force)) / 2


def struck():
    """The skin at the moment of a stroke, left of the middle."""
    x, y = np.meshgrid(np.arange(SIZE), np.arange(SIZE), indexing="ij")
    return np.exp(-((x - SIZE / 2) ** 2 + (y - SIZE / 3) ** 2) / 12), np.zeros((SIZE, SIZE))


def picture(height):
    """The heights as shades; a character is as high as two."""
    middle = len(SHADES) // 2
    level = np.rint(height[::2] / (np.abs(height).max() + 1e-30) * middle).astype(int) + middle
    return ["".join(SHADES[each] for each in row) for row in level]


def main():
    compiled = jit(move)
    state = struck()
    program = compiled.lower(*state).as_text()
    print(f"{STEPS} steps are a program of {program.count('stablehlo.')} operations.\n")
    at_first, frames = energy(*state), []
    for _ in range(2):
        for _ in range(4):
            state = tuple(map(np.asarray, compiled(*state)))
        frames.append(picture(state[0]))
    for row in zip(*frames, strict=True):
        print("  ".join(row))
    change = energy(*state) / at_first - 1
    print(f"\nThe energy has changed by {abs(change):.1%}.")
    assert abs(change) < 0.1, "energy is not conserved: is a rule wrong?"


if __name__ == "__main__":
    main()
