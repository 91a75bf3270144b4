"""Symbolic sizes of axes: integer expressions over dimension variables, such as `2*b + n - 1`.

A size is an int or a `Dimension`; a result that is a constant is always an int. A `Dimension` is a
sum of terms, each an integer times a product of atoms; an atom is a variable or one of `floordiv`,
`mod`, `max` and `min` of two sizes. To work with sizes from elsewhere in the library:

- `expressions.fold(size, variable, constant, operations)` walks an expression from its leaves, and
  combines the values of any kind that `variable` and `constant` return;
- `expressions.evaluate(size, environment)` folds with Python's operators: the values of the
  variables may be ints, sizes, or arrays;
- `expressions.variables(size)` and `variables_of(shapes)` list the variables, sorted;
- `expressions.Dimension.terms` gives the pairs of product and coefficient, `Monomial.factors` the
  pairs of atom and exponent, `Atom.name` and `Atom.operands` the rest;
- `scopes.SymbolicScope.constraints` holds what the user has declared about the variables.
"""
