"""Laws of static arguments, for each package that has a `jit`."""

import functools

import numpy as np
import pytest

X = np.arange(3.0)


def counted(f):
    """`f`, which also counts how often it runs: under jit, how often it is traced."""

    @functools.wraps(f)
    def counting(*args, **kwargs):
        counting.traces += 1
        return f(*args, **kwargs)

    counting.traces = 0
    return counting


class StaticArgumentLaws:
    """A subclass has in `lib` its package's `jit`, `deriv`, `vmap`, `sin` and `reduce_sum`."""

    @staticmethod
    def power(x, n, *, flip=False):
        assert type(flip) is bool
        result = 1.0
        for _ in range(n):
            result = result * x
        return -result if flip else result

    def test_one_and_true_and_one_point_zero_are_three(self):
        jit = self.lib.jit
        f = counted(lambda n: str(n) and float(n))
        g = jit(f, static_argnums=0)
        for n in (1, 1.0, True, 1, True, 1.0):
            g(n)
        assert f.traces == 3
        inverse = jit(lambda n: 1.0 / n, static_argnums=0)
        assert [float(inverse(n)) for n in (0.5, 2)] == [2, 0.5]

    def test_any_hashable_value(self):
        jit, lib = self.lib.jit, self.lib
        f = jit(lambda f, shape, x: f(lib.reduce_sum(x)) + shape[0], static_argnums=(0, 1))
        assert f(lib.sin, (3, 4), X).item() == pytest.approx(np.sin(3.0) + 3)
        assert f(abs, (3, 4), -X).item() == 6.0

    def test_positions_of_many_arguments(self):
        jit = self.lib.jit
        f = jit(lambda *args: sum(args[1:], 0.0) if args[0] == "sum" else args[1], static_argnums=0)
        assert (f("sum", 1.0, 2.0).item(), f("first", 1.0, 2.0).item()) == (3.0, 1.0)

    def test_under_other_transformations(self):
        jit = self.lib.jit
        g = jit(self.power, static_argnums=1)
        np.testing.assert_allclose(self.lib.vmap(lambda x: g(x, 3))(X), X**3)
        assert self.lib.deriv(lambda x: g(x, 3))(2.0) == 12.0
        assert jit(lambda x: g(x, 2) + g(x, 3))(2.0).item() == 12.0
