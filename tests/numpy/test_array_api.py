"""The array API namespace: `jnp.__array_namespace_info__`, beside JAX."""

import jax
import jax.numpy as jnp
import pytest

import glassjax
import glassjax.numpy as gnp

KINDS = [
    "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating",
    "numeric", ("bool", "real floating"), None,
]  # fmt: skip


@pytest.mark.parametrize("wide", [False, True])
def test_the_namespace_tells_what_jaxs_tells(wide):
    with jax.enable_x64(wide), glassjax.enable_x64(wide):
        ours, theirs = gnp.__array_namespace_info__(), jnp.__array_namespace_info__()
        assert ours.capabilities() == theirs.capabilities()
        assert ours.default_device() is None
        assert ours.default_dtypes() == theirs.default_dtypes()
        assert [str(each) for each in ours.devices()] == [str(each) for each in theirs.devices()]
        for kind in KINDS:
            assert ours.dtypes(kind=kind) == theirs.dtypes(kind=kind)
    with pytest.raises(KeyError, match="kind is one of bool, signed integer"):
        ours.dtypes(kind="nonsense")
    assert gnp.__array_api_version__ == jnp.__array_api_version__


def test_arrays_name_their_namespace():
    assert gnp.ones(2).__array_namespace__() is gnp
