"""Numbers and arrays that are literals of programs; here these are of their own types."""

from minijax import Array as LiteralArray

TypedNdArray = LiteralArray
TypedInt, TypedFloat, TypedComplex = int, float, complex

__all__ = ["LiteralArray", "TypedComplex", "TypedFloat", "TypedInt", "TypedNdArray"]
