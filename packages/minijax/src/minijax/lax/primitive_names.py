"""Primitives by name: `add` applies `add_p`."""

from collections.abc import Container

from minijax_stage2 import Primitive
from minijax_stage3 import abstract_eval_rules
from minijax_stage4 import cond_p


def primitive_named(module: str, name: str, among: Container[str] | None = None) -> Primitive:
    """The primitive for the attribute `name` of a module, which ends in `_p`.

    Arguments:
        module: the name of the module.
        name: the name of the attribute.
        among: the names of the primitives to look among; by default all.

    Raises:
        AttributeError: there is none.
    """
    for primitive in abstract_eval_rules:
        if primitive is cond_p:  # stage 4's: that of the library chooses between more branches
            continue
        if f"{primitive.name}_p" == name and (among is None or primitive.name in among):
            return primitive
    from minijax.lax.composites import FUNCTIONS, INLINED, composite, inlined  # needs all of lax

    name_of_function = name.removesuffix("_p")
    named = among is None or name_of_function in among
    if name.endswith("_p") and name_of_function in FUNCTIONS and named:
        return composite(name_of_function, FUNCTIONS[name_of_function])
    if name.endswith("_p") and name_of_function in INLINED and named:
        return inlined(name_of_function, INLINED[name_of_function])
    raise AttributeError(f"module {module!r} has no attribute {name!r}")
