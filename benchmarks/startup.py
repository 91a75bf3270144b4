"""What a fresh process pays: importing, and the first result."""

from benchmarks.measure import fresh_processes

FIRST_RESULT = """
import numpy as np
import {module}
import {module}.numpy as jnp
f = {module}.jit(lambda x: jnp.sin(x) * 2 + 1)
f(np.ones(3, np.float32)).block_until_ready()
"""

LINES = [
    fresh_processes("import", "import minijax", "import jax", budget=0.35),
    fresh_processes(
        "first result of a small jit",
        FIRST_RESULT.format(module="minijax"),
        FIRST_RESULT.format(module="jax"),
        budget=0.4,
        note="import included",
    ),
]
