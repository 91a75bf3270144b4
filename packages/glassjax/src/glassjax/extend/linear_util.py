"""Functions that transformations wrap layer by layer, under the names of `jax.extend.linear_util`.

A layer is a generator: it yields the arguments for the inner function, receives that function's
results, and then yields its own results.
"""

import functools
from collections.abc import Callable
from typing import Any


class StoreException(Exception):
    """A store was read before its layer ran."""


class Store:
    """A place for the auxiliary output of a layer; call it to read it."""

    def __init__(self, name: str):
        self._name = name
        self._values: list[Any] = []

    def store(self, value: Any) -> None:
        self._values = [value]

    def __call__(self) -> Any:
        if not self._values:
            raise StoreException(
                f"`{self._name}` has not run yet, so its auxiliary results are not known: "
                "call the function first"
            )
        return self._values[0]


class WrappedFun:
    """A function with layers around it.

    Attributes:
        f: the innermost function.
        params: arguments by keyword for it.
        debug_info: whatever was given to `wrap_init`.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        call: Callable[..., Any],
        params: dict[str, Any],
        debug_info: Any = None,
    ):
        self.f = f
        self.params = params
        self.debug_info = debug_info
        self._call = call

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "<unnamed function>")

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function through all of its layers."""
        return self._call(*args, **kwargs)

    def wrap(self, layer: Callable[..., Any]) -> "WrappedFun":
        """The function with one more layer around it, a function that takes the function below."""
        return WrappedFun(
            self.f, functools.partial(layer, self._call), self.params, self.debug_info
        )

    def __repr__(self) -> str:
        return f"WrappedFun({self.__name__})"


def wrap_init(
    f: Callable[..., Any], params: dict[str, Any] | None = None, *, debug_info: Any = None
) -> WrappedFun:
    """Wrap a function, without layers yet.

    Arguments:
        f: the function.
        params: arguments by keyword for it.
        debug_info: a description for messages, kept unchanged.
    """
    params = dict(params or {})
    return WrappedFun(f, functools.partial(f, **params), params, debug_info)


def transformation(
    gen: Callable[..., Any], fun: WrappedFun | None = None, *static_args: Any
) -> Any:
    """Put a layer around `fun`; without `fun`, return a decorator of it.

    Arguments:
        gen: generator function of static arguments and the arguments of a call: it yields the
            arguments for the function below, is sent its result, and yields its own.
        fun: the function below; None: `transformation` returns a decorator.
        static_args: the first arguments of `gen`.
    """
    return transformation2(_run_layer(gen), fun, *static_args)


def _run_layer(gen: Callable[..., Any]) -> Callable[..., Any]:
    """A layer as a function of the function below and its arguments."""

    @functools.wraps(gen)
    def layer(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        steps = gen(*args, **kwargs)
        inner_args, inner_kwargs = next(steps)
        return steps.send(call(*inner_args, **inner_kwargs))

    return layer


def transformation_with_aux(
    gen: Callable[..., Any], fun: WrappedFun | None = None, *static_args: Any, **options: Any
) -> Any:
    """As `transformation`, for a layer that returns a pair: its result, and a value to store.

    Arguments:
        gen, fun, static_args: as in `transformation`.
        options: ignored.

    Returns:
        The wrapped function, and the store, which is called to be read.
    """
    run = _run_layer(gen)

    @functools.wraps(gen)
    def layer(call: Callable[..., Any], store: Store, *args: Any, **kwargs: Any) -> Any:
        result, aux = run(call, *args, **kwargs)
        store.store(aux)
        return result

    return transformation_with_aux2(layer, fun, *static_args)


def transformation2(
    gen: Callable[..., Any], fun: WrappedFun | None = None, *static_args: Any
) -> Any:
    """As `transformation`, for a layer that is a function of the function below and its arguments.

    Arguments:
        gen: function of the function below, static arguments, and the arguments of a call.
        fun, static_args: as in `transformation`.
    """
    if fun is None:
        return functools.partial(transformation2, gen)
    return fun.wrap(lambda call, *args, **kwargs: gen(call, *static_args, *args, **kwargs))


def transformation_with_aux2(
    gen: Callable[..., Any], fun: WrappedFun | None = None, *static_args: Any, **options: Any
) -> Any:
    """As `transformation2`, for a layer that takes a store after the function below.

    Arguments:
        gen: function of the function below, the store, static arguments, and the arguments of a
            call.
        fun, static_args: as in `transformation`.
        options: ignored.

    Returns:
        The wrapped function, and the store, which is called to be read.
    """
    if fun is None:
        return functools.partial(transformation_with_aux2, gen)
    store = Store(getattr(gen, "__name__", "a layer"))
    return transformation2(gen, fun, store, *static_args), store


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """Tell which of two stores was written, with its value.

    Returns:
        True and the value of the first, or False and the value of the second.

    Raises:
        StoreException: neither was written, or both were.
    """
    values = []
    for is_first, aux in ((True, aux1), (False, aux2)):
        try:
            values.append((is_first, aux()))
        except StoreException:
            continue
    if len(values) != 1:
        found = "both" if values else "neither"
        raise StoreException(f"one of two stores must have been written, found {found}")
    return values[0]


def cache(call: Callable[..., Any], *, explain: Any = None) -> Callable[..., Any]:
    """Keep the results of `call(fun, *args)`, by the identity of `fun` and the arguments."""
    return functools.lru_cache(maxsize=4096)(call)


__all__ = [
    "StoreException", "WrappedFun", "cache", "merge_linear_aux", "transformation",
    "transformation2", "transformation_with_aux", "transformation_with_aux2", "wrap_init",
]  # fmt: skip
