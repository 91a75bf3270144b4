"""Random numbers, under the names of `jax.random`: the same numbers for the same keys."""

from glassjax.settings.facades import lazy_facade as _lazy_facade

_lazy_facade(
    globals(),
    {
        ".continuous": """
            bernoulli cauchy double_sided_maxwell exponential geometric gumbel laplace logistic
            lognormal maxwell multivariate_normal normal orthogonal pareto rademacher randint
            rayleigh triangular truncated_normal uniform wald weibull_min
        """,
        ".discrete": "binomial categorical choice multinomial permutation poisson",
        ".gamma_family": """
            ball beta chisquare dirichlet f gamma generalized_normal loggamma random_gamma_p t
        """,
        ".keys": """
            Key PRNGKey bits clone fold_in key key_data key_dtype key_impl split wrap_key_data
        """,
    },
)
