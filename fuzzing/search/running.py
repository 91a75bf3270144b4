"""Programs computed by either library, whole or in part."""

import ast
import contextlib
import importlib
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from fuzzing.search import comparing
from fuzzing.search.programs import MODULES, Program
from fuzzing.search.transformations import TRANSFORMATIONS, is_inexact, is_key


def libraries() -> tuple[Any, Any]:
    """glassjax and JAX, with all their modules."""
    for name in MODULES:
        importlib.import_module(f"jax.{name}")
        importlib.import_module(f"glassjax.{name}")
    import jax

    import glassjax

    return glassjax, jax


def made(program: Program, library: Any) -> tuple[Any, Any]:
    """The function of a program in a library, and its arguments; nothing is transformed yet."""
    namespace = {"np": np, "nan": np.nan, "inf": np.inf, "moved": moved}
    exec(compile(program.source, "<program>", "exec"), namespace)
    return namespace["program"](library, library.numpy, library.lax)  # type: ignore[operator]


def result_of(
    program: Program,
    library: Any,
    change: float = 0.0,
    inner_jit: bool = False,
    one_by_one: bool = False,
) -> Any:
    """What a program gives, described; its inexact arguments changed by so many times epsilon.

    With `inner_jit` its function is compiled as a whole; `one_by_one`, no operations together.
    """
    try:
        with library.enable_x64(program.x64), warnings.catch_warnings(), quiet_numpy():
            warnings.simplefilter("ignore")
            f, args = made(program, library)
            if change:
                coarsest = coarsest_eps(program, library)
                args = tuple(changed(library, x, change, coarsest) for x in args)
            within, around = ["jit"] * inner_jit, ["disable_jit"] * one_by_one
            for name in (*within, *program.transformations, *around):
                f, args = TRANSFORMATIONS[name](library, f, args)
            return comparing.described(library, f(*args))
    except Exception as error:
        return comparing.raised(error)


@contextlib.contextmanager
def quiet_numpy() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def coarsest_eps(program: Program, library: Any) -> float:
    """The epsilon of the narrowest float of the inputs, at least that of float32."""
    sources = " ".join(each.source for each in program.inputs)
    return max(
        float(library.numpy.finfo(dtype).eps)
        for dtype in ("float32", "float16", "bfloat16")
        if dtype == "float32" or f'"{dtype}"' in sources
    )


def changed(library: Any, x: Any, times: float, coarsest: float) -> Any:
    """An argument changed by so many times epsilon; for weak types, of what they may meet."""
    if is_key(library, x) or not is_inexact(library, x):
        return x
    if isinstance(x, float | complex):
        return x * (1 + times * coarsest)
    is_weak = getattr(x, "weak_type", False)
    eps = coarsest if is_weak else float(library.numpy.finfo(x.dtype).eps)
    values = (np.asarray(x) * (1 + times * eps * _steps(x, times))).astype(x.dtype)
    if is_weak and x.shape == ():
        return library.numpy.asarray(values.item())
    return library.numpy.asarray(values)


def _steps(x: Any, times: float) -> Any:
    """Steps of one sign, or of signs that alternate where `times` is negative; no two the same.

    What is equal parts, a singular matrix is one no more, and neither sums nor differences stay.
    """
    numbers = np.arange(x.size)
    signs = np.where((numbers % 2 == 1) & (times < 0), -1, 1)
    return (signs * (1 + np.cos(numbers) / 2)).reshape(x.shape)


def moved(library: Any, results: Any, times: float) -> Any:
    """Results of a call; the inexact ones moved by so many times the rounding of the largest."""
    jnp = library.numpy

    def of(x: Any) -> Any:
        if is_key(library, x) or not is_inexact(library, x):
            return x
        x = jnp.asarray(x)
        size = jnp.abs(x)
        scale = jnp.max(jnp.where(jnp.isfinite(size), size, 0), initial=0)
        steps = jnp.asarray(_steps(x, times)).astype(scale.dtype)
        if jnp.iscomplexobj(x):  # the sign of what is nearly real may be either
            steps = steps + 1j * jnp.abs(steps)
        return x + (times * float(jnp.finfo(x.dtype).eps) * scale * steps).astype(x.dtype)

    return library.tree.map(of, results)


def with_results_moved(program: Program, times: float) -> Program:
    """The program with the results of all calls but the last moved."""
    *others, last = program.calls
    calls = (*(f"moved(jax, {call}, {times})" for call in others), last)
    return replace(program, calls=calls)


def arguments_of(program: Program, which: int) -> tuple[list[Any], dict[str, Any]] | None:
    """The arguments of one of the calls, as JAX computes them outside of transformations."""
    name = program.functions[which]
    calls = [
        node
        for node in ast.walk(ast.parse(program.calls[which], mode="eval"))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == name
    ]
    if not calls:
        return None
    given = ", ".join(map(ast.unparse, calls[0].args))
    named = ", ".join(f"{each.arg}={ast.unparse(each.value)}" for each in calls[0].keywords)
    before = replace(program, calls=(*program.calls[:which], f"([{given}], dict({named}))"))
    _, jax = libraries()
    try:
        with jax.enable_x64(program.x64), warnings.catch_warnings(), quiet_numpy():
            warnings.simplefilter("ignore")
            f, args = made(before, jax)
            return f(*args)  # type: ignore[no-any-return]
    except Exception:
        return None
