"""Coordinator addresses under Slurm and Open MPI, beside JAX."""

import pytest

from glassjax.distributed.cluster import detect

SLURM = {
    "SLURM_JOB_ID": "70001",
    "SLURM_NTASKS": "8",
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "1",
}
OPEN_MPI = {
    "OMPI_VERSION": "4.1.6",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
}
NODES = ["n1", "node001,host2", "node[001-0015],host2", "a-b[001,007-015],host2", "x[1-2]y"]
URIS = [
    "1531576320.0;tcp://10.96.0.1,10.148.0.1,10.108.0.1:34911",
    "1531576320.0;tcp://10.96.0.1:34911",
    "1314521088.0;tcp6://[fe80::b9b:ac5d:9cf0:b858,2620:10d:c083:150e::3000:2]:43370",
]
ENVIRONMENTS = [SLURM | {"SLURM_STEP_NODELIST": nodes} for nodes in NODES]
ENVIRONMENTS += [OPEN_MPI | {"OMPI_MCA_orte_hnp_uri": uri} for uri in URIS]
ENVIRONMENTS += [ENVIRONMENTS[0] | ENVIRONMENTS[-1]]


@pytest.mark.parametrize("variables", ENVIRONMENTS)
def test_detection(variables, monkeypatch):
    from jax._src import clusters

    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = detect(None)
    theirs = clusters.ClusterEnv.auto_detect_unset_distributed_params(
        None, None, None, None, None, 10
    )
    address = f"{found.host(10)}:{found.port()}"
    ours = address, found.process_count(), found.process_index(), [found.local_index()]
    assert ours == tuple(theirs)
