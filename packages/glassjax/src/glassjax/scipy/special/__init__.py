"""Special functions, under the names of `jax.scipy.special`."""

from glassjax.settings.facades import lazy_facade as _lazy_facade

_lazy_facade(
    globals(),
    {
        "glassjax.nn.activations": "logsumexp",
        "glassjax.numpy.transcendental": "i0",
        ".error_functions": "dawsn erf erfc erfcinv erfcx erfinv log_ndtr ndtr ndtri owens_t wofz",
        ".gamma_and_beta": """
            _complex_log_gamma bernoulli beta betainc betaln comb digamma factorial gamma gammainc
            gammaincc gammaln gammasgn loggamma multigammaln poch polygamma zeta
        """,
        ".hypergeometric": "bessel_jn hyp1f1 hyp2f1 i0e i1 i1e sph_harm_y",
        ".integrals": "exp1 expi expn fresnel sici spence",
        ".logarithms": """
            boxcox boxcox1p entr expit kl_div log_softmax logit rel_entr softmax xlog1py xlogy
        """,
    },
)
