"""Jaxprs that differ from JAX's as data, with the reasons.

By reason, the expressions of tests/support/library_programs.py whose program differs plainly or
under a transformation, with calls nested as in JAX.
"""

DIFFERENT: dict[str, str] = {
    "only its derivatives differ: numbers in rules are residuals of calls there": """
        jnp.cumprod(x)
        jnp.linalg.svd(m)
    """,
    "JAX's unset memory, tokens in arrays, and primitives that take what a batch varies in": """
        lax.after_all(lax.create_token())
        lax.cond(x[0] > 0, jnp.sin, jnp.cos, x)
        lax.while_loop(lambda c: c[0] < 10, lambda c: c * 2, x + 1)
    """,
    "only constants of a program, in another order, or parameters that a caller gives": """
        x.at[i].set(y)
        jnp.hstack([x, y])
    """,
    "another formula, or a primitive of this library with its own derivative": """
        jnp.diag(x)
        random.choice(key, x)
    """,
    "what is known is computed while tracing; JAX's programs hold it, or dead equations": """
        m.std()
        jnp.std(x)
        jnp.cov(m)
        jnp.pad(x, 1)
    """,
    "fewer equations: JAX reads the diagonal by a gather, or by a product on TPUs": """
        jnp.corrcoef(m)
        jnp.diag(m)
    """,
    "of 64 bits, JAX's conversion holds a sharding over no axes": """
        jnp.percentile(x, 50)
    """,
    "comparisons with numbers; JAX searches an array of them, a constant of an inner program": """
        scipy.linalg.expm(m)
    """,
    "only the gradient differs: by an unused sum of zeros": """
        jnp.linalg.slogdet(m)
    """,
}
