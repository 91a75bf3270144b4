"""Primitives by name: `add` applies `add_p`."""

from collections.abc import Container, Iterable
from importlib import import_module

from minijax.settings.facade_names import FACADES
from minijax_stage2 import Primitive
from minijax_stage3 import abstract_eval_rules
from minijax_stage4 import cond_p


def all_primitives() -> list[Primitive]:
    """The primitives of the library, whose rooms are imported for that."""
    for table in FACADES.values():
        for module in table:
            import_module(module)
    import_module("minijax.debug")
    return list(abstract_eval_rules)


def primitive_named(module: str, name: str, among: Container[str] | None = None) -> Primitive:
    """The primitive for the attribute `name` of a module, which ends in `_p`.

    Arguments:
        module: the name of the module.
        name: the name of the attribute.
        among: the names of the primitives to look among; by default all.

    Raises:
        AttributeError: there is none.
    """
    own_name = name.removesuffix("_p")
    if name.endswith("_p") and (among is None or own_name in among):
        primitive = _named(abstract_eval_rules, own_name) or _named(all_primitives(), own_name)
        if primitive is not None:
            return primitive
        from minijax.lax.composites import FUNCTIONS, INLINED, composite, inlined

        if own_name in FUNCTIONS:
            return composite(own_name, FUNCTIONS[own_name])
        if own_name in INLINED:
            return inlined(own_name, INLINED[own_name])
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


def _named(primitives: Iterable[Primitive], name: str) -> Primitive | None:
    for primitive in primitives:
        # Stage 4's is another: that of the library chooses between more branches.
        if primitive.name == name and primitive is not cond_p:
            return primitive
    return None


def primitive_of_linalg(module: str, name: str) -> Primitive:
    """The primitive of a function of `lax.linalg` for an attribute of that module."""
    functions = " ".join(FACADES["minijax.lax.linalg"].values()).split()
    return primitive_named(module, name, among=functions)
