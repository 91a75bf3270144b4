"""Named scopes: names for parts of a program, shown in its text and in profiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, ParamSpec, TypeVar

from glassjax.errors.arguments import require_fit
from glassjax.errors.tracebacks import hiding_frames
from glassjax.runtime.lowering import attributes_in_context
from glassjax.settings.config import reusable_context, set_in_context
from glassjax.settings.names import wraps
from glassjax.settings.tracers import library_interpreter
from glassjax_stage1 import current_interpreter
from glassjax_stage2.arguments import require_function
from glassjax_stage2.errors import shown
from glassjax_stage2.source import Source, name_of, on_behalf_of
from glassjax_stage3.staging import JaxprTrace
from glassjax_stage4.partial_eval import PartialEvalTrace


class Transform(NamedTuple):
    """A transformation in a name stack, printed around the name that follows it."""

    name: str


Part = str | Transform

# The current names, with the trace that stages the program they belong to.
_open: ContextVar[tuple[tuple[Any, Part], ...]] = ContextVar("open_scopes", default=())

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class NameStack:
    """The names of nested parts of a program, and their transformations.

    Attributes:
        stack: the names, from the outermost, a `Transform` for each transformation.

    >>> stack = NameStack().extend("layer").transform("vmap").extend("head")
    >>> str(stack), len(stack), str(stack[:1] + stack[2:])
    ('layer/vmap(head)', 3, 'layer/head')
    """

    stack: tuple[Part, ...] = ()

    def extend(self, name: str) -> NameStack:
        """The stack with one more name."""
        return NameStack((*self.stack, name))

    def transform(self, transform_name: str) -> NameStack:
        """The stack with a transformation, printed around the name that follows."""
        return NameStack((*self.stack, Transform(transform_name)))

    def __getitem__(self, idx: slice) -> NameStack:
        return NameStack(self.stack[idx])

    def __len__(self) -> int:
        return len(self.stack)

    def __add__(self, other: NameStack) -> NameStack:
        return NameStack(self.stack + other.stack)

    def __str__(self) -> str:
        return text_of_parts(self.stack)


class ScopedSource(Source):
    """A place in a program, with the names of the enclosing parts and frontend attributes.

    An inner program starts without names; XLA prepends the outer ones.
    """

    __slots__ = ("attributes", "scope")

    def __init__(self, source: Source):
        vars(self).update(vars(source))
        self.attributes = attributes_in_context.value
        self.scope = text_of_parts(open_parts()) if _open.get() else ""

    @property
    def name_stack(self) -> NameStack:
        return NameStack((self.scope,) if self.scope else ())


# Backward passes: which equations they write, for those who ask.


BACKWARD = "backward pass"  # the outermost scope of its equations
_marks_backward: ContextVar[bool] = ContextVar("marks_backward", default=False)


class BackwardSource(Source):
    """A place in a program whose cotangents are computed here, or that is computed again."""

    def __init__(self, source: Source):
        super().__init__(source.code, source.offset)
        scope = getattr(source, "scope", "")
        self.scope = f"{BACKWARD}/{scope}" if scope else BACKWARD
        self.attributes = getattr(source, "attributes", ())


def marking_backward_passes() -> AbstractContextManager[None]:
    """Name what backward passes compute, in programs that are traced in this context."""
    return set_in_context(_marks_backward, True)


def marks_backward_passes() -> bool:
    """Return True where backward passes are to be `marked`."""
    return _marks_backward.get() and _staging_trace() is not None


def marked(backward_pass: Callable[P, R]) -> Callable[P, R]:
    """A backward pass whose equations, in the program being staged, have a `BackwardSource`."""
    staging = _staging_trace()

    @wraps(backward_pass)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        before = len(staging.eqns)
        outs = backward_pass(*args, **kwargs)
        for eqn in staging.eqns[before:]:
            if eqn.source is not None and type(eqn.source) is not BackwardSource:
                eqn.source = BackwardSource(eqn.source)
        return outs

    return run


def _staging_trace() -> Any:
    """The trace that stages the current program; None outside of staging."""
    trace: Any = current_interpreter()
    while not isinstance(trace, JaxprTrace) or isinstance(trace, PartialEvalTrace):
        if trace is None:
            return None
        trace = trace.parent
    return trace


def open_parts() -> tuple[Part, ...]:
    """The names of the current parts in the program that is being staged."""
    staging = _staging_trace()
    return tuple([name for trace, name in _open.get() if trace is staging])


def text_of_parts(parts: Sequence[Part]) -> str:
    """Names of parts joined by slashes: `layer/vmap(head)/mul`."""
    found: list[str] = []
    for part in reversed(parts):
        if isinstance(part, str):
            found.append(part)
        elif found:
            found[-1] = f"{part.name}({found[-1]})"
        else:
            found.append(f"{part.name}()")
    return "/".join(reversed(found))


def parts_opened(parts: Sequence[Part], instead: bool = False) -> AbstractContextManager[None]:
    """Enter parts of a program, within the current ones or instead of them."""
    record_scopes()
    staging, before = _staging_trace(), _open.get()
    if instead:
        before = tuple([each for each in before if each[0] is not staging])
    return set_in_context(_open, (*before, *[(staging, part) for part in parts]))


@cache
def record_scopes() -> None:
    """Let equations record names and attributes from now on, which takes time."""
    for stage in JaxprTrace, PartialEvalTrace:
        trace = library_interpreter(stage)
        trace.process = _recording_scopes(trace.process)
        trace.apply = _recording_scopes(trace.apply)


def _recording_scopes(method: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """`process` or `apply` of a staging trace, whose new equations have scoped sources."""

    @wraps(method)
    def in_scope(trace: Any, *args: Any) -> list[Any]:
        before = len(trace.eqns)
        outs = method(trace, *args)
        for eqn in trace.eqns[before:]:
            # Other equations come from an inner `process`, and have their scope.
            if eqn.source is not None and not hasattr(eqn.source, "scope"):
                eqn.source = ScopedSource(eqn.source)
        return outs

    return in_scope


@reusable_context
def named_scope(name: str) -> Iterator[None]:
    """Name a part of a program: the block of a `with`, or a decorated function.

    Nested names are joined by slashes. Profilers show them, and so does
    `jit(f).lower(x).compile().as_text()`, in the metadata of each operation.

    Arguments:
        name: the name of the part.

    Raises:
        TypeError: `name` is not a string.

    >>> @glassjax.jit
    ... def layer(x, w):
    ...     with glassjax.named_scope("products"):
    ...         y = x @ w
    ...     return jnp.tanh(y)
    >>> compiled = layer.lower(jnp.ones((2, 3)), jnp.ones((3, 4))).compile()
    >>> 'op_name="products/dot_general"' in compiled.as_text()
    True
    """
    if not isinstance(name, str):
        raise TypeError(f"named_scope: name must be a string, found {shown(name)}")
    with parts_opened([name]):
        yield


def named_call(fun: Callable[P, R], *, name: str | None = None) -> Callable[P, R]:
    """`fun` as a named part of a program, as with `named_scope`.

    Arguments:
        fun: function of arrays and pytrees of arrays.
        name: its name; the name of `fun` by default.

    Returns:
        A function of the same arguments.

    Raises:
        TypeError: `fun` is not a function, or `name` is not a string.

    >>> f = glassjax.jit(glassjax.named_call(jnp.sin, name="waves"))
    >>> 'op_name="waves/sin"' in f.lower(1.0).compile().as_text()
    True
    """
    require_function("named_call", fun)
    require_fit("named_call", "name", name, str | None)
    scope = name or name_of(fun)

    @hiding_frames
    @wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        with named_scope(scope):
            return fun(*args, **kwargs)

    return named


# Stacks of names and places in a program, as `jax.extend.source_info_util` has them.


def summarize(source_info: Source | None, num_frames: int = 1) -> str:
    """The place as text: file, line and function."""
    return "unknown" if source_info is None else str(source_info)


@contextmanager
def user_context(traceback: Any, *, name_stack: Any = None) -> Iterator[None]:
    """Attribute what runs in the block to a place; None to the line that is running."""
    with on_behalf_of(traceback if isinstance(traceback, Source) else None):
        yield


def current_name_stack() -> NameStack:
    """The names of the enclosing parts of the program. Transformations add none, unlike JAX's."""
    return NameStack(open_parts())


def new_name_stack(name: str = "") -> NameStack:
    """A stack of this name, or an empty one."""
    return NameStack((name,) if name else ())


@contextmanager
def extend_name_stack(name: str) -> Iterator[NameStack]:
    """Name a part of the program, as `named_scope` does, and return the names."""
    with parts_opened([name]):
        yield current_name_stack()


@contextmanager
def transform_name_stack(name: str) -> Iterator[NameStack]:
    """Say that a transformation made what follows, and return the names."""
    with parts_opened([Transform(name)]):
        yield current_name_stack()


@contextmanager
def set_name_stack(name_stack: NameStack) -> Iterator[None]:
    """Use these names in place of the names of the enclosing parts."""
    with parts_opened(name_stack.stack, instead=True):
        yield


def reset_name_stack() -> Any:
    """Use no names, whatever the enclosing parts are called."""
    return set_name_stack(NameStack())
