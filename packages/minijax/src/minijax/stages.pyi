"""The stages between a function and its results, under the names of `jax.stages`.

`jit(f).trace(*args)` returns a `Traced`, its `lower()` a `Lowered`, and the `compile()` of that a
`Compiled`, which can be called like `f`.
"""

from minijax.runtime.stages import ArgInfo as ArgInfo
from minijax.runtime.stages import Compiled as Compiled
from minijax.runtime.stages import CompilerOptions as CompilerOptions
from minijax.runtime.stages import Lowered as Lowered
from minijax.runtime.stages import Traced as Traced
from minijax.runtime.stages import Wrapped as Wrapped
