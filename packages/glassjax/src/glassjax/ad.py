"""Marks of the arguments of `with_refs`, a method of the functions that `vjp` returns."""

from glassjax.transforms.autodiff import DidntWant, DontWant, GradRef, GradValue

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue"]
