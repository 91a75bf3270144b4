"""JAX's programs and derivatives where the library's own are faster, shorter or more exact.

They are for readers of programs alone: where calls are nested as in JAX
(`glassjax.extend.core.nested_calls`), the function of the same name here takes the place of one
that is decorated by `written_in_jax`, and forward mode takes the rules of `derivatives`.
"""
