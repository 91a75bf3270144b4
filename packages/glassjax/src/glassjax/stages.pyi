"""The stages between a function and its results, under the names of `jax.stages`.

`jit(f).trace(*args)` returns a `Traced`, its `lower()` a `Lowered`, and the `compile()` of that a
`Compiled`, which can be called like `f`.
"""

from glassjax.runtime.stages import ArgInfo as ArgInfo
from glassjax.runtime.stages import Compiled as Compiled
from glassjax.runtime.stages import CompilerOptions as CompilerOptions
from glassjax.runtime.stages import Lowered as Lowered
from glassjax.runtime.stages import Traced as Traced
from glassjax.runtime.stages import Wrapped as Wrapped
