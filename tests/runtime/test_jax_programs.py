"""Programs in JAX's form, which readers see in the place of ours: they compute the same."""

import importlib
import inspect
import pkgutil
from functools import partial

import jax
import jax.scipy.signal
import jax.scipy.stats
import numpy as np
import pytest
from jaxprs_as_data import jaxpr_data
from library_programs import WAYS, transformed

import glassjax
import glassjax.numpy as jnp
import glassjax.scipy
from glassjax import jax_programs
from glassjax.extend.core import nested_calls
from glassjax.jax_programs.derivatives import jvp_rules_of_jax as rules
from glassjax.settings.names import named

# For each function of a room, or rule of a primitive, an expression whose program has it.
EXAMPLES = {
    "derivatives.cumlogsumexp": "lax.cumlogsumexp(m, axis=1)",
    "derivatives.cumprod": "lax.cumprod(m, axis=1, reverse=True)",
    "derivatives.div": "nn.softmax(x) / (x + y)",
    "derivatives.eigh": "lax.linalg.eigh(m + jnp.diag(x))",
    "derivatives.lu": "[lax.linalg.lu((m @ m)[:, k:])[0] for k in (0, 1)]",
    "derivatives.pow": "x**y + 2.0**x",
    "derivatives.qr": "jnp.linalg.qr(m @ m)",
    "derivatives.reduce_prod": "m.prod(0) * lax.reduce_prod(m, (0, 1))",
    "derivatives.scatter": "jnp.sin(m).at[np.array([2, 0, 2]), :2].set(m[:, 1:])",
    "derivatives.scatter-max": "jnp.maximum(m, 0).at[np.array([2, 0, 2])].max(m[:3] + 1)",
    "derivatives.scatter-min": "jnp.sin(x).at[np.array([2, 0, 2, 9])].min(jnp.append(y, 0.25))",
    "derivatives.svd": """[
        jnp.linalg.svd(part, full_matrices=False)
        for a in [m + jnp.diag(x)]
        for part in (a, a[:, 1:], a[1:])
    ]""",
    "derivatives.triangular_solve": """[
        lax.linalg.triangular_solve(m, b, left_side=left, transpose_a=left, unit_diagonal=left)
        for b, left in [(m @ m, True), (m[:2], False)]
    ]""",
    "indexing.on_lines": "jnp.interp(x, y[::-1], x, left=-1.0)",
    "indexing.positions": "jnp.sin(y)[jnp.nonzero(x > 0.3, size=3, fill_value=1)[0]]",
    "indexing.search": "jnp.searchsorted(x, y) * y",
    "lax._reordered": "lax.conv(m[None, None], m[None, None], (1, 1), 'SAME')",
    "linalg._det": "jnp.linalg.det(m @ m - 2)",
    "linalg._slogdet": "jnp.linalg.slogdet(m @ m - 2)",
    "linalg._solutions": "jnp.linalg.solve(m, m[:, :2] + 1)",
    "numpy._share": "jnp.logaddexp(x, y) + jnp.logaddexp2(y, x)",
    "numpy._interpolated": """(
        jnp.linspace(x, 2 * y, 4) * jnp.linspace(x[0], 2.0, 3, endpoint=False)
        + jnp.linspace(y, x, 1)
    )""",
    "numpy._last_piece": "jnp.piecewise(x, [x < 0.3, x > 0.6], [jnp.log, 2.0, lambda x: x**2])",
    "numpy._progression": "(jnp.arange(0.5, 2.0, 0.5) * x + jnp.arange(2.0, 5.0)).astype(x.dtype)",
    "numpy.diagonal": "jnp.diagonal(m, -1) * jnp.diag(m @ m, 1) * jnp.diagonal(jnp.cos(m))[1:]",
    "numpy.select": "jnp.select([x < 0.3, x > 0.6], [x, 2 * y], -x)",
    "numpy.trace": "jnp.trace(m, 1) * jnp.trace(jnp.stack([m, 2 * m]), axis1=1, axis2=2)",
    "special.betaln": "scipy.special.betaln(x, 4 * y) + scipy.special.betaln(x + 9, y)",
    "special.gelu": "nn.gelu(x, approximate=False)",
    "special._means_by_similarity": """(lambda out: out[0] + out[1][..., None])(
        nn.dot_product_attention(
            jnp.stack([m, 2 * m, m + 1, -m], 1), jnp.stack([m, 1 - m], 1), jnp.stack([m, m + 1], 1),
            bias=jnp.stack([m, -m, m, m])[None], is_causal=True, return_residual=True,
        )
    )""",
}

ROOMS = [
    importlib.import_module(f"{jax_programs.__name__}.{room.name}")
    for room in pkgutil.iter_modules(jax_programs.__path__)
    if room.name != "derivatives"
]


def test_each_function_has_an_example_that_it_writes(monkeypatch):
    glassjax.clear_caches()
    named.cache_clear()  # of the functions that the noting ones replace
    written = set()

    def noted(name, function):
        def note(*args, **kwargs):
            written.add(name)
            return function(*args, **kwargs)

        return note

    functions = {
        f"derivatives.{primitive}": (partial(monkeypatch.setitem, rules, primitive), rule)
        for primitive, rule in rules.items()
    } | {
        f"{room.__name__.rpartition('.')[2]}.{name}": (
            partial(monkeypatch.setattr, room, name),
            function,
        )
        for room in ROOMS
        for name, function in inspect.getmembers(room, inspect.isfunction)
        if function.__module__ == room.__name__ and not name.endswith("_jvp")  # in the others
    }
    for key, (replace, function) in functions.items():
        replace(noted(key, function))
    assert EXAMPLES.keys() == functions.keys()
    for key, expression in EXAMPLES.items():
        written.clear()
        with nested_calls():
            for way in WAYS:
                if (found := transformed(glassjax, expression, way)) is not None:
                    glassjax.make_jaxpr(found[0])(*found[1])
        assert key in written


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_program_in_jaxs_form_computes_the_same(name, way):
    ours, theirs = (transformed(library, EXAMPLES[name], way) for library in (glassjax, jax))
    if ours is None:
        return
    function, arguments = ours
    with nested_calls():
        closed = glassjax.make_jaxpr(function)(*arguments)
    found = glassjax.core.eval_jaxpr(closed.jaxpr, closed.consts, *arguments)
    plain, expected = (x[0](*x[1]) for x in (ours, theirs))
    for values in (glassjax.tree.leaves(plain), jax.tree.leaves(expected)):
        for x, y in zip(found, values, strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


def test_searches_are_mapped_as_in_jax():
    """Batches of sorted arrays, of queries, of both, and of neither."""
    rows = np.sort(np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32))
    x, queries = rows[0], rows[0, :, :2]

    def programs(lib):
        search, vmap = lib.numpy.searchsorted, lib.vmap
        return [
            (vmap(vmap(search)), rows, rows[..., :2]),
            (vmap(search, (1, 1)), x.T, x.T),
            (vmap(search, (0, None), 2), x, queries),
            (vmap(vmap(search, (0, None)), (None, 0)), x, queries),
            (vmap(vmap(search, (None, 0)), (0, None)), x, queries),
            (vmap(vmap(search), (0, None)), rows, queries),
            (vmap(vmap(search), (None, 0)), x, rows),
            (vmap(lambda x: lib.numpy.nonzero(x, size=9, fill_value=9), 1), rows > 0),
            (vmap(vmap(lambda x: lib.numpy.nonzero(x, size=2)), 2), rows > 0),
        ]

    for (function, *arguments), (theirs, *_) in zip(programs(glassjax), programs(jax), strict=True):
        with nested_calls():
            closed = glassjax.make_jaxpr(function)(*arguments)
        assert jaxpr_data(closed) == jaxpr_data(jax.make_jaxpr(theirs)(*arguments))
        run = glassjax.core.jaxpr_as_fun(closed)
        for found in (run(*arguments), glassjax.jit(run)(*arguments)):
            for x, y in zip(found, jax.tree.leaves(theirs(*arguments)), strict=True):
                np.testing.assert_array_equal(x, y)


def test_fill_values_are_mapped_with_some_axes_of_a_batch():
    """JAX reshapes those of a second axis to a wrong size."""
    x, fills = np.arange(24).reshape(2, 3, 4) % 5 > 3, np.arange(6).reshape(2, 3)

    def find(x, fill):
        return jnp.nonzero(x, size=3, fill_value=fill)[0]

    for axes in [((0, 0), (0, 0)), ((0, None), (0, 0)), ((0, 0), (0, None)), ((None, 0), (0, 0))]:
        function = glassjax.vmap(glassjax.vmap(find, axes[0]), axes[1])
        batch = x if axes[0][0] == 0 else x[:, 0]
        values = {((0, None), (0, 0)): fills[:, 0], ((0, 0), (0, None)): fills[0]}.get(axes, fills)
        with nested_calls():
            closed = glassjax.make_jaxpr(function)(batch, values)
        (found,) = glassjax.core.eval_jaxpr(closed.jaxpr, closed.consts, batch, values)
        np.testing.assert_array_equal(found, function(batch, values))
