"""Valid calls of every public function: those of the examples in its docstring.

An example is run in a namespace whose modules are watched. Run with JAX in the place of glassjax
it gives the arguments of the same calls there.
"""

import contextlib
import doctest
import importlib
import inspect
import io
import re
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fuzzing.method_calls import call_of_method, is_method, method_of, names_of_methods

# Modules whose `__all__` is public, as they are called within glassjax and within JAX.
MODULES = [
    "", "ad_checkpoint", "core", "custom_batching", "custom_derivatives", "debug", "dtypes",
    "example_libraries.optimizers", "example_libraries.stax", "export", "flatten_util", "image",
    "lax", "lax.linalg", "nn", "nn.initializers", "numpy", "numpy.fft", "numpy.linalg", "ops",
    "random", "scipy.fft", "scipy.integrate", "scipy.linalg", "scipy.ndimage", "scipy.optimize",
    "scipy.signal", "scipy.sparse.linalg", "scipy.special", "scipy.stats", "tree", "tree_util",
]  # fmt: skip
MODULES += [
    f"scipy.stats.{name}"
    for name in (
        "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon",
        "gamma", "gennorm", "geom", "gumbel_l", "gumbel_r", "laplace", "logistic", "multinomial",
        "multivariate_normal", "nbinom", "norm", "pareto", "poisson", "t", "truncnorm", "uniform",
        "vonmises", "wrapcauchy",
    )
]  # fmt: skip


@dataclass
class Call:
    """One call: its arguments, and those of the calls of the function that it returned, if any."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    of_result: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)


def module_of(library: str, module: str) -> Any:
    """A module of `glassjax` or of `jax`, which has no `ops` of all names."""
    return importlib.import_module(f"{library}.{module}" if module else library)


def public_functions() -> list[str]:
    """The full names of all public functions, each once, and of methods of arrays."""
    names, seen = [], set()
    for module in MODULES:
        namespace = module_of("glassjax", module)
        for name in namespace.__all__:
            value = getattr(namespace, name)
            if not callable(value) or isinstance(value, type | types.GenericAlias):
                continue
            if id(value) not in seen and (value.__module__ or "").startswith("glassjax"):
                seen.add(id(value))
                names.append(f"{module}.{name}".lstrip("."))
    return names + names_of_methods()


def function_of(library: str, name: str) -> Any:
    """A public function of `glassjax` or of `jax`, by its full name; None if it has none such."""
    if is_method(name):
        return method_of(name)
    module, _, last = name.rpartition(".")
    try:
        return getattr(module_of(library, module), last, None)
    except ImportError:
        return None


def calls_of(library: str, name: str) -> list[Call]:
    """The calls of a function in the examples of its docstring, with arguments of the library."""
    if is_method(name):
        return [Call(*call_of_method(module_of(library, ""), name))]
    function = function_of(library, name)
    calls: list[Call] = []
    if function is None:
        return calls
    watched = _watched_function(function, calls)
    namespace = _namespace(library, name, function, watched)
    documented = inspect.getdoc(function_of("glassjax", name)) or ""
    with _quiet():
        for example in doctest.DocTestParser().get_examples(documented):
            if re.match(r"(from|import) glassjax\b", example.source):  # what is given anyway
                continue
            code = compile(example.source, f"<example of {name}>", "single")
            try:
                exec(code, namespace)
            except Exception:  # some show errors; JAX lacks what some use
                continue
    return calls


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _watched_function(function: Callable[..., Any], calls: list[Call]) -> Any:
    class Watched:
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            call = Call(args, kwargs)
            result = function(*args, **kwargs)  # a call that fails is not among them
            calls.append(call)
            is_function = callable(result) and not isinstance(result, type)
            return _WatchedResult(result, call) if is_function else result

        def __getattr__(self, attribute: str) -> Any:
            return getattr(function, attribute)

    return Watched()


class _WatchedResult:
    """A function that a function returned."""

    def __init__(self, result: Callable[..., Any], call: Call):
        self.result, self.call = result, call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.call.of_result.append((args, kwargs))
        return self.result(*args, **kwargs)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self.result, attribute)


class _Module:
    """A module in which a function, whatever it is called there, is the one that watches."""

    def __init__(self, module: Any, name: str, function: Any, watched: Any):
        vars(self).update(_module=module, _name=name, _function=function, _watched=watched)

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(self._module, attribute)
        if inspect.ismodule(value):
            return _Module(value, self._name, self._function, self._watched)
        if value is self._function or (callable(value) and attribute == self._name):
            return self._watched
        return value


def _namespace(library: str, name: str, function: Any, watched: Any) -> dict[str, Any]:
    """What a function's example takes for granted; modules of `library` in glassjax's place."""
    module, _, last = name.rpartition(".")
    home = importlib.import_module(function_of("glassjax", name).__module__)
    names = {
        **(vars(home) if library == "glassjax" else {}),
        **vars(module_of(library, module)),
        "glassjax": module_of(library, ""),
        "jnp": module_of(library, "numpy"),
        **{each: module_of(library, each) for each in ("lax", "nn", "random", "tree_util")},
        "np": np,
        "__name__": "__main__",
    }
    for key, value in names.items():
        if inspect.ismodule(value) and value is not np:
            names[key] = _Module(value, last, function, watched)
        elif value is function:
            names[key] = watched
    return {**names, last: watched}
