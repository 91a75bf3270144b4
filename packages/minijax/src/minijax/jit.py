"""`jit` with the options of JAX's, and with less to do for a call than stage 3's.

Tracing, compiling and what other transformations make of a jitted function are stage 3's.
"""

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from minijax.array import Array
from minijax.arrays import tree_to_arrays
from minijax.evaluation import evaluated_by_library, library_evaluation, x64
from minijax_stage1.interpreter import is_evaluating
from minijax_stage2.flat_function import require_function
from minijax_stage2.shaped_array import aval_rules, typeof
from minijax_stage3.array import to_buffer
from minijax_stage3.jit import Executor
from minijax_stage3.jit import JittedFunction as Stage3JittedFunction
from minijax_stage3.static_arguments import exact_type


class JittedFunction(Stage3JittedFunction):
    """A function that is compiled when first called with arguments of a new kind."""

    array_type = Array

    def __init__(
        self,
        fun: Callable[..., Any],
        static_argnums: int | Iterable[int] | None = None,
        static_argnames: str | Iterable[str] | None = None,
        inline: bool = False,
    ):
        super().__init__(fun, static_argnums, static_argnames)
        self._static_argnums = self._static.argnums
        self._executors_with: dict[bool, dict[Any, Executor]] = defaultdict(dict)
        self._inside = fun if inline else None  # what is called inside a transformation

    # --8<-- [start:call]
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not is_evaluating():
            if self._inside is not None:
                return self._inside(*args, **kwargs)
            return self._bind(args, kwargs)
        # A call with nothing but Arrays is recognised by their types. Most calls have one argument
        # or two, which is worth not making lists for.
        executors = self._executors_with[x64.value]
        if not kwargs:
            if len(args) == 1:
                (x,) = args
                if type(x) is Array:
                    execute = executors.get(x.aval)
                    if execute is not None:
                        return execute([x.buffer])
            elif len(args) == 2:
                x, y = args
                if type(x) is Array and type(y) is Array:
                    execute = executors.get((x.aval, y.aval))
                    if execute is not None:
                        return execute([x.buffer, y.buffer])
            else:
                avals = tuple([x.aval for x in args if type(x) is Array])
                if len(avals) == len(args):
                    execute = executors.get(avals)
                    if execute is not None:
                        return execute([x.buffer for x in args])
        with library_evaluation():
            execute, buffers = self._prepare(args, kwargs)
        return execute(buffers)

    # --8<-- [end:call]

    def _prepare(self, args: Any, kwargs: Any) -> tuple[Executor, list[Any]]:
        """As in stage 3, but arguments that are no trees need not be taken apart.

        Then the key is one flat tuple: the type of each argument that is an array, and exact type
        and value of each that is static, after its name where it has one.
        """
        key: list[Any] = []
        leaves: list[Any] = []
        for position, x in enumerate(args):
            cls = x.__class__
            if position in self._static_argnums:
                key += cls if cls in _HAS_NO_PARTS else exact_type(x), x
                continue
            rule = aval_rules.get(cls)
            if rule is None:  # a tree, or no argument at all
                return super()._prepare(args, kwargs)
            key.append(rule(x))
            leaves.append(x)
        for name, x in kwargs.items():
            if name not in self._static.argnames:
                return super()._prepare(args, kwargs)
            cls = x.__class__
            key += name, cls if cls in _HAS_NO_PARTS else exact_type(x), x
        executors = self._executors_with[x64.value]
        try:
            execute = executors.get(tuple(key))
        except TypeError:  # something is not hashable, which stage 3 says better
            return super()._prepare(args, kwargs)
        if execute is None:
            execute, buffers = super()._prepare(args, kwargs)
            executors[tuple(key)] = execute
            if len(key) == 1:
                executors[key[0]] = execute
            return execute, buffers
        return execute, [x.buffer if type(x) is Array else to_buffer(x, typeof(x)) for x in leaves]

    lower = evaluated_by_library(Stage3JittedFunction.lower)

    def _bind(self, args: Any, kwargs: Any) -> Any:
        return tree_to_arrays(super()._bind(args, kwargs))


# Classes of which equal values are the same.
_HAS_NO_PARTS = frozenset((int, bool, str, bytes, type(None)))


def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    inline: bool = False,
) -> Any:
    """Compiles.

    Arguments:
    """
    options: Any = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "inline": inline,
    }
    if fun is None:
        return functools.partial(jit, **options)
    require_function("jit", fun)
    return JittedFunction(fun, **options)
