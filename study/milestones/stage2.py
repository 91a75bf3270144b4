"""Newton's method, with your `jvp` and your `vmap`.

A zero of `f` is where its tangent crosses zero, again and again. The derivative is yours, and so is
the batch: 73 starts take the same steps at once, and the last line shows which zero each finds.
"""

import numpy as np

from glassjax_stage2 import deriv, sin, vmap

STEPS = 40
ZEROS = {"a": -2.0, "b": 0.0, "c": 2.0}


def newton(f, x):
    """A better guess for a zero of `f` than `x`."""
    return x - f(x) / deriv(f)(x)


def kepler(angle):
    """Zero at the eccentric anomaly of a planet, a quarter of its year after the perihelion."""
    return angle - 0.9 * sin(angle) - np.pi / 2


def cubic(x):
    return x * (x - 2.0) * (x + 2.0)


def letter(x):
    """The zero that was found, or a dot."""
    return next((name for name, zero in ZEROS.items() if abs(x - zero) < 1e-6), ".")


def main():
    x = 2.0
    for step in range(6):
        print(f"step {step}   x = {x:.15f}   f(x) = {kepler(x):8.1e}")
        x = newton(kepler, x)
    starts = np.linspace(-2.25, 2.25, 73)
    found = starts
    for _ in range(STEPS):
        found = vmap(lambda x: newton(cubic, x))(found)
    print("\nEach start from -2.25 to 2.25, and the zero of x (x - 2) (x + 2) that it finds:\n")
    print("  " + "".join(map(letter, found)))
    assert abs(kepler(x)) < 1e-12, "Newton's method has not found a zero: is a rule wrong?"


if __name__ == "__main__":
    main()
