"""Transformations written by users."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, ClassVar

import glassjax_stage2 as stage2
from glassjax.primitives.declare import calls, decomposition_of
from glassjax.runtime.evaluation import device_trace, evaluated_by_library, library_evaluation
from glassjax.runtime.templates import template_p
from glassjax.settings.tracers import Tracer
from glassjax_stage1.interpreter import set_interpreter
from glassjax_stage2 import Primitive, ShapedArray, explain_mismatch, typeof
from glassjax_stage2.arguments import FlatFunction, require_function
from glassjax_stage2.errors import TreeMismatchError
from glassjax_stage2.source import name_of, on_behalf_of, user_source
from glassjax_stage2.trace import Rules
from glassjax_stage2.tree import tree_flatten, tree_unflatten
from glassjax_stage3 import eval_jaxpr

Parts = tuple[Any, ...]


class PartsTracer(Tracer):
    """A tracer that holds several values, with the type of the first."""

    def __init__(self, trace: "Trace", parts: Parts):
        self.interpreter = trace
        self.source = user_source()
        self.parts = parts

    @property
    def aval(self) -> ShapedArray:  # type: ignore[override]
        return typeof(self.parts[0])

    def why_unknown(self) -> str:
        return f"it is a value of {self.interpreter}, which stands for {len(self.parts)} arrays"


class Trace(stage2.Trace):
    """An interpreter of primitives, above this library's evaluation.

    It handles its own tracers, and treats every other value as a constant.

    A subclass has a table of rules. Its tracers then hold tuples of values, the *parts*. A rule
    takes the parts of each operand, and the parameters of the primitive by keyword; it returns a
    list with the parts of each result, computed with functions of arrays.

    Attributes:
        transformation: its name, for messages.
        rules: the table.

    A subclass without a table defines `process`, which applies a primitive to a list of operands,
    with metadata by keyword, and returns the list of its results.

    >>> from glassjax import core
    >>> class Printing(core.Trace):
    ...     def process(self, primitive, args, params):
    ...         print(primitive)
    ...         return self.leave_to_parent(primitive, args, params)
    >>> with Printing().run():
    ...     y = jnp.sin(jnp.ones(2)) * 2.0
    broadcast_in_dim
    sin
    mul
    >>> y
    Array([1.6829419, 1.6829419], dtype=float32)
    """

    rules: ClassVar[Rules]

    def __init__(self, f: Any = None):
        super().__init__(f)
        self.is_outermost = self.parent is None
        # Outside of transformations a trace would otherwise evaluate by numpy, as the stages do.
        if self.is_outermost:
            self.parent = device_trace

    @contextmanager
    def run(self) -> Iterator[None]:
        """Make this trace current for a block, and end it afterwards."""
        with library_evaluation() if self.is_outermost else nullcontext(), super().run():
            yield

    def box(self, parts: Parts) -> Any:
        """The tracer that holds `parts`."""
        return PartsTracer(self, parts)

    def unbox(self, x: Any) -> Parts:
        """The parts of a value; for a constant, `parts_of_constant`."""
        if isinstance(x, PartsTracer) and x.interpreter is self:
            return x.parts
        return self.parts_of_constant(x)

    def parts_of_constant(self, x: Any) -> Parts:
        """The parts of a value that does not depend on the function's arguments."""
        raise NotImplementedError(f"{type(self).__name__} must define parts_of_constant")

    def process(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        if not any(isinstance(x, PartsTracer) and x.interpreter is self for x in args):
            return self.leave_to_parent(primitive, args, params)
        rule = self.rules.get(primitive)
        if rule is None:
            return self.process_without_rule(primitive, args, params)
        operands = [self.unbox(x) for x in args]
        with on_behalf_of(user_source()), set_interpreter(self.parent):
            return [self.box(parts) for parts in rule(*operands, **params)]

    def process_without_rule(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        """Apply a primitive without a rule in the table.

        A primitive that holds one program of its operands, as `jit` and `checkpoint` do, is
        interpreted as that program; one declared by a function of other primitives, as that
        function.

        Raises:
            MissingRuleError: it is neither.
        """
        program = program_of(primitive, params)
        if program is None:
            return [self.box(parts) for parts in self.rules[primitive]()]  # raises MissingRuleError
        return program(*args)


def program_of(primitive: Primitive, params: dict[str, Any]) -> Callable[..., list[Any]] | None:
    """The decomposition of a primitive into other primitives, or None."""
    if primitive is template_p:
        return params["template"].run
    if primitive in calls:
        return called_program(params)
    function = decomposition_of(primitive)
    return None if function is None else lambda *operands: list(function(*operands, **params))


def called_program(params: dict[str, Any]) -> Callable[..., list[Any]]:
    """The function of operands that a primitive in `calls` applies."""
    return partial(eval_jaxpr, params["jaxpr"], [])


def transformation(trace_class: type[Trace], **options: Any) -> Callable[..., Any]:
    """The function that interprets functions with a trace.

    Arguments:
        trace_class: a subclass of `Trace` with a table of rules.
        options: further arguments of its constructor.

    Returns:
        `transformed(fun, *arguments)`. Each of `arguments` is a tuple with one part of all
        arguments of `fun`, pytrees of one structure. It returns a list with as many pytrees, each
        with one part of the result of `fun`. It can be transformed in turn.

    Raises:
        TypeError: when called, `fun` is not a function, or its arguments are not arrays.
        TreeMismatchError: when called, the parts differ in structure.

    >>> from glassjax import core
    >>> class Magnitude(core.Trace):
    ...     transformation = "magnitude"
    ...     rules = core.Rules("magnitude", "magnitude_rules")
    ...     def parts_of_constant(self, x):
    ...         return (jnp.abs(x),)
    >>> Magnitude.rules[lax.mul_p] = lambda x, y: [(x[0] * y[0],)]
    >>> core.transformation(Magnitude)(lambda x: -2.0 * x * x, (3.0,))
    [Array(18., dtype=float32, weak_type=True)]
    """
    caller = trace_class.transformation

    def transformed(fun: Callable[..., Any], *arguments: tuple[Any, ...]) -> list[Any]:
        require_function(caller, fun)
        flat = [tree_flatten(part) for part in arguments]
        for part, (_, tree) in zip(arguments, flat, strict=True):
            if tree != flat[0][1]:
                raise TreeMismatchError(
                    f"{caller} of `{name_of(fun)}`: the parts of its arguments must have one tree "
                    f"structure: {explain_mismatch(arguments[0], part)}"
                )
        flat_fun = FlatFunction(fun, flat[0][1])
        trace = trace_class(fun, **options)
        with trace.run():
            outs = flat_fun(
                *(trace.box(parts) for parts in zip(*(x for x, _ in flat), strict=True))
            )
            unboxed = [trace.unbox(out) for out in outs]
        return [
            tree_unflatten(flat_fun.out_tree, [parts[i] for parts in unboxed])
            for i in range(len(arguments))
        ]

    return evaluated_by_library(transformed)
