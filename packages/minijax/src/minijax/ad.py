"""What becomes of the cotangents of arguments, for `with_refs` of the functions of `vjp`."""

from minijax.transforms.vjp_function import DidntWant, DontWant, GradRef, GradValue

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue"]
