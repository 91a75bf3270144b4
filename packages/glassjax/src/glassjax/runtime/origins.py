"""Origins of derivatives: the primitive whose derivative an equation computes."""

from collections.abc import Sequence
from copy import copy
from functools import cache
from typing import Any

from glassjax.runtime.templates import JVPTrace, TakesTemplates, Template
from glassjax.settings.tracers import library_interpreter
from glassjax_stage2 import Primitive
from glassjax_stage2.source import Source, on_behalf_of, user_source
from glassjax_stage2.trace import Params

# While `debug_nans` or `debug_infs` is set, the source of an equation also tells the primitive in
# whose derivative rule it was made. The rule computes the primal result, too, by the primitive
# itself, which is not a part of the derivative.


class Derivative:
    """A differentiated operation, an attribute of the sources of its derivative's equations.

    Attributes:
        primitive: its primitive.
        place: its place in the user's program.
        primals: its operands while the rule runs; afterwards None.
    """

    def __init__(self, primitive: Primitive, place: Source, primals: Sequence[Any]):
        self.primitive = primitive
        self.place = place
        self.primals: Sequence[Any] | None = primals

    def computes_primal(self, primitive: Primitive, args: Sequence[Any]) -> bool:
        """Return True if an operation in the rule gives the primal result."""
        primals = self.primals
        return (
            primitive is self.primitive
            and primals is not None
            and len(primals) == len(args)
            and all(x is y for x, y in zip(primals, args, strict=True))
        )


def derivative_at(source: Source | None) -> Derivative | None:
    """The differentiated operation that an equation with this source belongs to."""
    return getattr(source, "derivative", None)


class in_derivative_of(on_behalf_of):
    """A context that attributes work to the running line, and to the derivative of a primitive.

    A derivative of a derivative belongs to the primitive in the user's program.
    """

    def __init__(self, primitive: Primitive, primals: Sequence[Any]):
        place = user_source()
        if place is not None and derivative_at(place) is None:
            self.derivative = Derivative(primitive, place, primals)
            place = copy(place)
            place.derivative = self.derivative  # type: ignore[attr-defined]
        super().__init__(place)

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        if hasattr(self, "derivative"):
            self.derivative.primals = None


def source_of(primitive: Primitive, args: Sequence[Any]) -> Source | None:
    """The source of an operation, without the derivative if it gives the primal result."""
    source = user_source()
    derivative = derivative_at(source)
    if derivative is not None and derivative.computes_primal(primitive, args):
        return derivative.place
    return source


# The interpreters while one of the settings is on.


class _TellsPrimals(TakesTemplates):
    """A trace that takes the primal result out of the derivative that it is computed for."""

    def process(self, primitive: Primitive, args: Sequence[Any], params: Params) -> list[Any]:
        with on_behalf_of(source_of(primitive, args)):
            return super().process(primitive, args, params)


class _MarksDerivatives(JVPTrace):
    """Forward mode by the rules of single primitives, whose equations tell their origin."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.takes_templates = self.copies_rules = False

    def process(self, primitive: Primitive, args: Sequence[Any], params: Params) -> list[Any]:
        if primitive.higher_order:  # its program has the primitives that are differentiated
            return super().process(primitive, args, params)
        with in_derivative_of(primitive, self.unbox(args)[0]):
            return super().process(primitive, args, params)

    def apply(self, template: Template, args: Sequence[Any], source: Source | None) -> list[Any]:
        return self.run_rules(template, args, source)


@cache
def interpreter_with_origins(cls: Any) -> Any:
    """The library's interpreter of a class, which records the origins of derivatives."""
    own = library_interpreter(cls)
    if not issubclass(own, TakesTemplates):
        return own
    bases = (_TellsPrimals, _MarksDerivatives) if own is JVPTrace else (_TellsPrimals, own)
    return type(own.__name__, bases, {"__module__": own.__module__, "__doc__": own.__doc__})
