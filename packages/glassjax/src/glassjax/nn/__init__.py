"""Neural network functions, under the names of `jax.nn`."""

from glassjax.settings.facades import lazy_facade as _lazy_facade

_lazy_facade(
    globals(),
    {
        ".": "initializers",
        ".activations": """
            celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu
            log1mexp log_sigmoid log_softmax logmeanexp logsumexp mish one_hot relu relu6 selu
            sigmoid silu soft_sign softmax softplus sparse_plus sparse_sigmoid squareplus
            standardize swish
        """,
        ".attention": "dot_product_attention",
        ".block_scaled": "get_scaled_dot_general_config scaled_dot_general scaled_matmul",
        "glassjax.numpy": "tanh",
    },
)
