"""einops: axes that are named."""

import jax
import jax.numpy as jnp
from einops import einsum, pack, rearrange, reduce, repeat


def main():
    images = jnp.arange(2 * 4 * 4 * 3.0).reshape(2, 4, 4, 3)
    patches = rearrange(images, "b (h p) (w q) c -> b (h w) (p q c)", p=2, q=2)
    packed, _ = pack([images, images[:, 0]], "b * c")
    return {
        "patches": jax.jit(lambda x: rearrange(x, "b (h p) (w q) c -> b (h w) (p q c)", p=2, q=2))(
            images
        ),
        "means": reduce(images, "b h w c -> b c", "mean"),
        "repeated": repeat(images[0, 0, 0], "c -> c n", n=3),
        "product": einsum(patches, patches, "b i d, b j d -> b i j"),
        "gradient": jax.grad(lambda x: reduce(x**2, "b h w c -> ", "sum"))(images),
        "packed": packed,
    }
