"""Shared parts of functions with custom derivatives."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

from minijax.errors.classes import TreeMismatchError
from minijax.runtime.conversion import tree_to_arrays
from minijax.runtime.current import is_evaluating
from minijax.runtime.evaluation import evaluated_by_library
from minijax.runtime.pickling import PickledByName
from minijax.runtime.refs import Ref
from minijax.settings.counted import counted
from minijax.transforms.custom_derivatives.rules import custom_call
from minijax_stage2 import explain_mismatch, typeof
from minijax_stage2.arguments import FlatFunction, require_function
from minijax_stage2.functions import ints
from minijax_stage2.source import name_of
from minijax_stage2.tree import PyTreeDef, tree_flatten, tree_unflatten

P = ParamSpec("P")
R = TypeVar("R")


class CustomFunction(PickledByName, ABC, Generic[P, R]):
    """Shared parts of `custom_jvp` and `custom_vjp`: a function, its differentiable arguments."""

    decorator = ""
    how_defined = ""

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ):
        require_function(self.decorator, fun)
        functools.update_wrapper(self, fun)
        self.fun = fun
        names = (nondiff_argnames,) if isinstance(nondiff_argnames, str) else nondiff_argnames
        parameters = _parameters(fun)
        missing = [name for name in names if name not in parameters]
        if missing:
            raise ValueError(
                f"{self.decorator}: nondiff_argnames names {missing[0]!r}, but the parameters of "
                f"`{name_of(fun)}` are {', '.join(parameters)}"
            )
        argnums = ints(f"{self.decorator}: nondiff_argnums", nondiff_argnums)
        self.nondiff_argnums = tuple(sorted({*argnums, *map(parameters.index, names)}))

    @abstractmethod
    def _is_defined(self) -> bool:
        """Return True if the function has a derivative rule."""

    @abstractmethod
    def _rule(self, call: Call) -> Any:
        """The rule for one call."""

    @evaluated_by_library
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        name = name_of(self.fun)
        if not self._is_defined():
            raise AttributeError(
                f"no derivative is defined for the {self.decorator} function `{name}`: "
                f"{self.how_defined}"
            )
        call = Call(self.fun, self.nondiff_argnums, by_position(self.fun, args, kwargs))
        outs = custom_call(call.function, self._rule(call), call.leaves, self.fun)
        result = tree_unflatten(call.out_tree, outs)
        return result if call.is_plain else tree_to_arrays(result)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


class Call:
    """One call: its differentiable arguments, flat, and their positions among all arguments."""

    def __init__(self, fun: Callable[..., Any], nondiff: Sequence[int], args: Sequence[Any]):
        if nondiff and max(nondiff) >= len(args):
            raise ValueError(
                f"`{name_of(fun)}` is called with {counted(len(args), 'argument')}, but "
                f"nondiff_argnums names number {max(nondiff)}"
            )
        self.fun = fun
        self.args = args
        given = [i for i in range(len(args)) if i not in nondiff]
        self.are_refs = [isinstance(args[i], Ref) for i in given]  # which have no derivative
        self.varying = [i for i in given if not isinstance(args[i], Ref)]
        self.nondiff = [args[i] for i in nondiff]
        # By itself the function is given what the user gave, and its result is its own.
        self.is_plain = is_evaluating()
        primals = tuple([args[i] for i in self.varying])
        self.leaves, self.in_tree = tree_flatten(
            primals if self.is_plain else tree_to_arrays(primals)
        )
        self.in_avals = [typeof(x) for x in self.leaves]
        self.flat = FlatFunction(lambda *primals: fun(*self.all_args(primals)), self.in_tree)
        self.flat.fun.__name__ = name_of(fun)
        self.rule_tree: PyTreeDef | None = None

    def function(self, *leaves: Any) -> list[Any]:
        return self.flat(*leaves)

    def without_refs(self, cotangents: Any) -> Any:
        """A tuple of what a rule returns for each argument, without those for references."""
        if not any(self.are_refs) or len(cotangents) != len(self.are_refs):
            return cotangents
        return tuple([x for x, is_ref in zip(cotangents, self.are_refs, strict=True) if not is_ref])

    def all_args(self, primals: Sequence[Any]) -> list[Any]:
        whole = list(self.args)
        for i, x in zip(self.varying, primals, strict=True):
            whole[i] = x
        return whole

    @property
    def out_tree(self) -> PyTreeDef:
        """The structure of the result, from the function or its rule, whichever has run."""
        return getattr(self.flat, "out_tree", None) or self.rule_tree  # type: ignore[return-value]

    def check_out_tree(self, role: str, tree: PyTreeDef) -> None:
        expected = getattr(self.flat, "out_tree", tree)
        if tree != expected:
            raise TreeMismatchError(
                f"{role} of `{name_of(self.fun)}` must return a result of the same structure as "
                f"the function: {explain_mismatch(expected, tree, name='result')}"
            )
        self.rule_tree = tree


def _parameters(fun: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(fun).parameters)
    except (TypeError, ValueError):  # builtins do not say
        return []


def by_position(fun: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments by position, defaults among them but for those of keyword-only ones."""
    try:
        signature = inspect.signature(fun)
    except (TypeError, ValueError):
        return tuple(args)
    bound = signature.bind(*args, **kwargs)
    by_name = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD
    passed = [name for name in bound.arguments if signature.parameters[name].kind in by_name]
    if passed:
        raise TypeError(
            f"`{name_of(fun)}` has a rule of its own, which knows arguments by their "
            f"position: keyword-only arguments cannot be passed, found {', '.join(passed)}"
        )
    bound.apply_defaults()
    return bound.args
