"""At a prompt: completion, help, signatures and reprs, beside JAX."""

import importlib
import inspect
import pickle
import pydoc
from rlcompleter import Completer

import jax
import jax.numpy as theirs
import pytest
from tables import for_each

import glassjax
import glassjax.numpy as ours

MODULES = ("", "lax", "lax.linalg", "nn", "nn.initializers", "numpy", "numpy.fft", "numpy.linalg",
           "random", "scipy.linalg", "scipy.special", "tree", "tree_util")  # fmt: skip
# What JAX's arrays have besides, for its own use or since removed.
OF_JAX = {"clone", "device_buffer", "device_buffers", "traceback", "unsafe_raw_buffer"}
OURS = {
    "": {
        "ad_checkpoint", "checkpoints", "compilation_cache", "coverage", "explain", "explain_error",
        "explain_memory", "extend", "flatten_util", "install_as_jax", "record", "test_util",
    },
    "lax": {"device_put"},
    "lax.linalg": {"geqrf"},
}  # fmt: skip


def public(x):
    return {name for name in dir(x) if not name.startswith("_")}


def completions(text, **names):
    completer, found = Completer(names), []
    while (each := completer.complete(text, len(found))) is not None:
        found.append(each)
    return {each.rstrip("()").rpartition(".")[2] for each in found}


def test_arrays_offer_the_names_of_jax():
    assert public(ours.ones(3)) == public(theirs.ones(3)) - OF_JAX
    assert public(ours.ones(3)) >= {"at", "sum", "mean", "T", "shape"}


def test_tracers_offer_no_more_than_arrays():
    seen = {}
    for name, wrap in {
        "jit": glassjax.jit,
        "grad": glassjax.grad,
        "vmap": glassjax.vmap,
        "jvp": lambda f: lambda x: glassjax.jvp(f, (x,), (x,)),
    }.items():

        def f(x, name=name):
            seen[name] = public(x)
            return x.sum()

        wrap(f)(ours.ones(3))
    of_jax = set()
    jax.jit(lambda x: of_jax.update(public(x)))(theirs.ones(3))
    for name, names in seen.items():
        assert names <= public(ours.ones(3)), name
        assert names >= of_jax & public(theirs.ones(3)) & names
        assert names >= {"at", "sum", "mean", "T", "shape", "aval"}, name


@pytest.mark.newest_jax
@for_each("name", MODULES)
def test_modules_offer_public_names_alone(name):
    mine = importlib.import_module(f"glassjax.{name}".rstrip("."))
    jaxs = importlib.import_module(f"jax.{name}".rstrip("."))
    assert public(mine) - public(jaxs) <= OURS.get(name, set())
    assert public(mine) == set(mine.__all__)
    for each in dir(mine):
        getattr(mine, each)


def test_completion_at_a_prompt():
    assert completions("x.cum", x=ours.ones(3)) == {"cumprod", "cumsum"}
    assert completions("jnp.arct", jnp=ours) == completions("jnp.arct", jnp=theirs)
    assert completions("jax.gra", jax=glassjax) == {"grad"}


def f(w, x=2.0):
    """The loss of `w`."""
    return w * x


def without_doc(w, x=2.0):
    return w * x


@for_each(
    "name",
    ["checkpoint", "custom_jvp", "custom_vjp", "grad", "hessian", "jacfwd", "jacrev", "jit",
     "named_call", "value_and_grad", "vmap"],
)  # fmt: skip
def test_derived_functions_say_what_they_are(name):
    derived, jaxs = (getattr(library, name)(f) for library in (glassjax, jax))
    assert derived.__name__ == jaxs.__name__ == "f"
    assert inspect.signature(derived) == inspect.signature(jaxs) == inspect.signature(f)
    assert derived.__doc__.endswith("The loss of `w`.")
    getattr(glassjax, name)(without_doc)


def test_summaries_of_derived_functions():
    assert glassjax.grad(f).__doc__ == "The gradient of `f`.\n\nThe loss of `w`."
    assert glassjax.grad(without_doc, (0, 1)).__doc__ == (
        "The gradient of `without_doc` with respect to arguments (0, 1)."
    )
    assert glassjax.hessian(f).__doc__.startswith("The second derivative of `f`.")
    assert glassjax.vmap(f).__doc__.startswith("`f`, mapped over")
    assert "The gradient of `f`." in pydoc.render_doc(glassjax.grad(f))


@for_each("name", ["all", "argmax", "mean", "sum", "astype", "round"])
def test_methods_leave_out_the_array(name):
    bound = getattr(ours.ones(3), name)
    assert "self" not in inspect.signature(bound).parameters
    jaxs = inspect.signature(getattr(theirs.ones(3), name))
    assert next(iter(inspect.signature(bound).parameters)) == next(iter(jaxs.parameters))
    assert repr(bound).startswith(f"<bound method {name} of Array([1.")


def test_signatures_name_what_is_array_like():
    assert str(inspect.signature(ours.sin)) == "(x: 'ArrayLike') -> 'Array'"
    assert "ArrayLike" in pydoc.render_doc(ours.sum)


@for_each(
    "shown",
    [
        lambda library: library.random.key(0),
        lambda library: library.random.split(library.random.key(0)),
        lambda library: library.typeof(library.random.key(0)),
        lambda library: library.numpy.ones(3).at,
        lambda library: library.numpy.add,
        lambda library: library.make_jaxpr(library.numpy.sin)(1.0),
        lambda library: library.ShapeDtypeStruct((2,), "float32"),
        lambda library: library.numpy.ones(3).sharding,
        lambda library: library.tree.structure({"a": [1, 2]}),
        lambda library: library.lax.Precision.HIGHEST,
    ],
)
def test_reprs_are_those_of_jax(shown):
    assert repr(shown(glassjax)) == repr(shown(jax))


def test_addresses_of_arrays():
    x = ours.arange(3)
    assert isinstance(x.unsafe_buffer_pointer(), int)
    assert x.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    assert (pickle.loads(pickle.dumps(x)) == x).all()
