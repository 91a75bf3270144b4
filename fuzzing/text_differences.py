"""Texts that differ from JAX's on purpose, each with its reason."""

DIFFERENT: dict[str, str] = {
    "`x.aval`": "these types are shared with the stages, which print `f32[3]`; `typeof(x)` reads "
    "as in JAX",
    "`repr` of a variable of a jaxpr": "it shows its type as the stages do",
    "dtypes of random keys": "they are structured dtypes of numpy; `typeof(x)` reads as in JAX",
    "`Traced`, `Lowered` and `Compiled`": "they name their function",
    "functions made by `vjp` and `linearize`": "they show what they are made of",
    "functions made of callables without a name": "they have the name of the function inside",
    "`mesh.abstract_mesh`": "it does not know the kind of the devices",
    "`print(x)` in `shard_map` outside of `jit`": "the function is staged, so there are no values",
    "values computed under `vmap(f, in_axes=1)`": "their batch axis comes first",
}

# Programs whose jaxprs have other equations than JAX's.
PROGRAMS_THAT_DIFFER: dict[str, str] = {
    "`x.at[0].set(y)` and slices": "a window is written by `dynamic_update_slice`",
    "functions that JAX jits": "the functions of `jnp`, `nn` and `random` are inlined",
    "`vmap` of `while_loop`": "what goes on in which example is part of the program",
    "`grad` of `scan`": "JAX shows trees of what the loop carries",
    "`grad` of `jit`": "a result that only the caller ignores has a name",
    "`grad` of `checkpoint`": "the forward program stays one step",
    "references": "they are resolved as the function is traced",
    "`debug.print`": "a callback like others",
    "callbacks": "they show the name of the function",
    "options of `jit` in `jit`": "a step is a program and its name; options belong to calls",
    "`jit(f, inline=True)`": "it is inlined at once",
    "`device_put`, `copy`": "within a program they do nothing",
    "`with_sharding_constraint`": "it says the sharding alone",
    "collectives under `vmap`": "they are reductions",
    "numbers in `shard_map`": "they need not be made to vary",
    "`pmap`": "axes of size 1 come and go by `reshape`",
    "random numbers": "`random` is inlined, and its bounds are numbers of the program",
}
