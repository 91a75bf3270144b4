"""Texts that differ from JAX's on purpose, each with its reason."""

DIFFERENT: dict[str, str] = {
    "`x.aval`": "these types are shared with the stages, which print `f32[3]`; `typeof(x)` reads "
    "as in JAX",
    "`repr` of a variable of a jaxpr": "it shows its type as the stages do",
    "dtypes of random keys": "they are structured dtypes of numpy; `typeof(x)` reads as in JAX",
    "`Traced`, `Lowered` and `Compiled`": "they name their function",
    "`eqn.params`": "equations leave out what is at its default; the text of the equation shows it",
    "`eqn.effects`": "these are the names of the primitives that have effects",
    "functions made by `vjp` and `linearize`": "they show what they are made of",
    "functions made of callables without a name": "they have the name of the function inside",
    "`pmap(f)`": "it is a jitted function",
    "`mesh.abstract_mesh`": "it does not know the kind of the devices",
    "`print(x)` in `shard_map` outside of `jit`": "the function is staged, so there are no values",
    "values computed under `vmap(f, in_axes=1)`": "their batch axis comes first",
}
