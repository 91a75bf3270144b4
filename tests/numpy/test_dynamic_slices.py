"""`ds`: slices of a known size from a start that is traced."""

import itertools

import jax
import jax.numpy
import numpy as np
import pytest
from libraries import assert_all_same_results

import minijax
import minijax.numpy as jnp

USES = {
    "one axis": lambda ds, x: x[ds],
    "beside an int": lambda ds, x: x[ds, 1],
    "second axis": lambda ds, x: x[:, ds],
    "after an ellipsis": lambda ds, x: x[..., ds],
    "new axis": lambda ds, x: x[None, ds],
    "two": lambda ds, x: x[ds, ds],
    "get": lambda ds, x: x.at[ds].get(),
    "set": lambda ds, x: x.at[ds].set(-1.0),
    "set beside an int": lambda ds, x: x.at[ds, 0].set(-1.0),
    "add": lambda ds, x: x.at[:, ds].add(1.0),
}
X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_traced_starts_give_what_jax_gives():
    cases = list(itertools.product(USES, (0, 1, 2, 3)))

    def results(library):
        of_start = library.jit(lambda x, i: [USES[use](library.ds(i, n), x) for use, n in cases])
        return [of_start(X, i) for i in (-4, -1, 0, 1, 2, 5)]

    for ours, theirs in zip(results(minijax), results(jax), strict=True):
        for case, found, expected in zip(cases, ours, theirs, strict=True):
            np.testing.assert_array_equal(found, expected, err_msg=str(case), strict=True)


@pytest.mark.newest_jax
def test_known_starts_give_what_jax_gives():
    assert_all_same_results(
        {
            (use, args): lambda n, lib, use=use, args=args: USES[use](lib.ds(*args), n.asarray(X))
            for use, args in itertools.product(USES, [(None,), (2,), (1, 2), (0, 3, 2)])
        },
        rtol=0,
        atol=0,
    )


def test_gradients_and_references():
    total = minijax.grad(lambda x, i: jnp.sum(x[minijax.ds(i, 2)] ** 2))
    np.testing.assert_array_equal(total(jnp.arange(5.0), 1), [0, 2, 4, 0, 0])
    ref = minijax.new_ref(jnp.arange(5.0))
    ref[minijax.ds(jnp.int32(1), 2)] = jnp.zeros(2)
    np.testing.assert_array_equal(ref[...], [0, 0, 0, 3, 4])
    assert minijax.tree.leaves(minijax.ds(jnp.int32(3), 2)) == [3]


@pytest.mark.parametrize(
    ("args", "error"),
    [((1.5, 2), TypeError), (("a", 2), TypeError), ((0, -1), ValueError), ((0, 2, 0), ValueError)],
)
def test_wrong_slices(args, error):
    with pytest.raises(error, match="ds"):
        minijax.ds(*args)
