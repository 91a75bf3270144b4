"""`distributed.initialize`: arguments, launchers and schedulers."""

import logging
import os
import socket
import sys
from contextlib import ExitStack

import pytest

import glassjax
from glassjax.distributed import cluster
from glassjax.distributed.cluster import detect
from glassjax.distributed.runtime import require_free, reserved_port

ADDRESS = "127.0.0.1:1"
SLURM = {
    "SLURM_JOB_ID": "70001",
    "SLURM_STEP_NODELIST": "node[007-009],gpu1",
    "SLURM_NTASKS": "8",
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "1",
}
OPEN_MPI = {
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
}


@pytest.fixture(autouse=True)
def _no_scheduler(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("SLURM_", "OMPI_", "PMIX_", "KUBERNETES_", "GLASSJAX_", "JAX_")):
            monkeypatch.delenv(name)
    monkeypatch.setattr("glassjax.distributed.runtime.has_client", lambda: False)
    monkeypatch.setattr("glassjax.xla.can_read_all_arrays", lambda: True)


def set_all(monkeypatch, variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "coordinator_address and num_processes and process_id must be given"),
        ({"coordinator_address": ADDRESS}, ValueError, "num_processes and process_id must be"),
        (
            {"coordinator_address": ADDRESS, "num_processes": 2, "process_id": 2},
            ValueError,
            "process_id=2 and num_processes=2",
        ),
        (
            {"coordinator_address": ADDRESS, "num_processes": 2, "process_id": -1},
            ValueError,
            "process_id must be at least 0",
        ),
        (
            {"coordinator_address": ADDRESS, "num_processes": 2.0, "process_id": 0},
            TypeError,
            "num_processes must be an int or None, found 2.0",
        ),
        (
            {"coordinator_address": "here", "num_processes": 2, "process_id": 0},
            ValueError,
            "a host and a port, such as '10.0.0.1:1234', found 'here'",
        ),
        (
            {"coordinator_address": 1234, "num_processes": 2, "process_id": 0},
            TypeError,
            "coordinator_address",
        ),
        ({"heartbeat_timeout_seconds": 0}, ValueError, "heartbeat_timeout_seconds must be at leas"),
        ({"initialization_timeout": "3"}, TypeError, "initialization_timeout must be an int"),
        ({"local_device_ids": "a"}, TypeError, "local_device_ids"),
        ({"cluster_detection_method": "pbs"}, ValueError, "'ompi', 'slurm', 'k8s' and 'deactivate"),
        ({"cluster_detection_method": "slurm"}, ValueError, "has no variables of it"),
    ],
)
def test_bad_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        glassjax.distributed.initialize(**arguments)
    assert not glassjax.distributed.is_initialized()


def test_bad_variables_are_refused(monkeypatch):
    monkeypatch.setenv("GLASSJAX_NUM_PROCESSES", "two")
    with pytest.raises(ValueError, match="GLASSJAX_NUM_PROCESSES must be an int, found 'two'"):
        glassjax.distributed.initialize()
    monkeypatch.setenv("GLASSJAX_NUM_PROCESSES", "2")
    monkeypatch.setenv("GLASSJAX_LOCAL_DEVICE_IDS", "0;1")
    with pytest.raises(ValueError, match="numbers with commas between them, found '0;1'"):
        glassjax.distributed.initialize()


def test_the_environment_says_what_is_not_given(monkeypatch):
    joined = []
    monkeypatch.setattr("glassjax.xla.join_processes", lambda *arguments: joined.append(arguments))
    monkeypatch.setattr("glassjax.distributed.runtime._wait_for_service", lambda *arguments: None)
    monkeypatch.setattr("glassjax.distributed.runtime._Membership.begin", lambda self: None)
    gpus = []
    monkeypatch.setattr("glassjax.xla.use_gpus", gpus.append)
    set_all(monkeypatch, SLURM)
    glassjax.distributed.initialize()
    glassjax.distributed.initialize(num_processes=9, coordinator_address="[::1]:7")
    monkeypatch.setenv("JAX_COORDINATOR_ADDRESS", "there:5")
    monkeypatch.setenv("JAX_COORDINATOR_BIND_ADDRESS", "0.0.0.0:6")
    monkeypatch.setenv("GLASSJAX_PROCESS_ID", "2")
    glassjax.distributed.initialize()
    monkeypatch.setenv("GLASSJAX_COORDINATOR_ADDRESS", "10.0.0.1:3")
    glassjax.distributed.initialize(process_id=4, coordinator_bind_address="eth:8")
    assert gpus == [[1]] * 4  # the number on the host, of each process one
    monkeypatch.setenv("GLASSJAX_LOCAL_DEVICE_IDS", "2, 3")
    glassjax.distributed.initialize()
    glassjax.distributed.initialize(local_device_ids=5)
    assert gpus[4:] == [[2, 3], [5]]
    del joined[4:]
    assert [arguments[:4] for arguments in joined] == [
        ("node007:61809", "[::]:61809", 8, 5),
        ("[::1]:7", "[::1]:7", 9, 5),
        ("there:5", "0.0.0.0:6", 8, 2),
        ("10.0.0.1:3", "eth:8", 8, 4),
    ]


def test_an_old_jaxlib_is_refused(monkeypatch):
    monkeypatch.setattr("glassjax.xla.can_read_all_arrays", lambda: False)
    with pytest.raises(RuntimeError, match=r"cannot read arrays .* jaxlib 0\.11\.2 can"):
        glassjax.distributed.initialize(ADDRESS, 2, 0)


def test_a_port_that_is_taken_is_refused():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(
            RuntimeError, match=r"process 0 cannot serve at .* in use.*another address"
        ):
            glassjax.distributed.initialize(address, 2, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux lets a socket hold a port for others")
def test_nobody_else_is_given_a_reserved_port():
    """Another launcher, or a connection, could have taken the port before process 0 did."""
    with reserved_port() as port:
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
        with socket.socket() as other, pytest.raises(OSError, match="refused"):
            other.connect(("127.0.0.1", port))
        require_free("127.0.0.1", port)
        with socket.socket() as service:  # as jaxlib's
            service.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            service.bind(("127.0.0.1", port))
            service.listen()
            with pytest.raises(RuntimeError, match="in use"):
                require_free("127.0.0.1", port)
            socket.create_connection(("127.0.0.1", port)).close()


def test_reserved_ports_differ():
    with ExitStack() as stack:
        ports = [stack.enter_context(reserved_port()) for _ in range(20)]
        assert len({*ports}) == len(ports) or sys.platform != "linux"


def test_an_address_of_another_host_is_refused():
    there = "10.255.255.254:1"
    with pytest.raises(RuntimeError, match=r"cannot serve at 10\.255\.255\.254, port 1"):
        glassjax.distributed.initialize(there, 2, 0, coordinator_bind_address=there)


def test_a_process_0_that_does_not_come_is_refused():
    with socket.socket() as silent:  # held, so that nobody else answers there
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(
            RuntimeError, match=r"process 1 did not reach process 0 at .* in 1 second"
        ):
            glassjax.distributed.initialize(address, 2, 1, initialization_timeout=1)


def test_proxies_are_warned_of(monkeypatch, caplog):
    monkeypatch.setenv("http_proxy", "http://proxy")
    monkeypatch.setattr("glassjax.distributed.runtime._wait_for_service", lambda *arguments: 1 / 0)
    with caplog.at_level(logging.WARNING), pytest.raises(ZeroDivisionError):
        glassjax.distributed.initialize("10.255.255.1:1", 2, 1)
    assert "http_proxy may keep processes from reaching each other" in caplog.text


@pytest.mark.parametrize(
    ("nodes", "host"),
    [
        ("node001", "node001"),
        ("node001,host2", "node001"),
        ("node[001-0015],host2", "node001"),
        ("node[001,007-015],host2", "node001"),
        ("rack-2-node[3]", "rack-2-node3"),
    ],
)
def test_slurm(monkeypatch, nodes, host):
    set_all(monkeypatch, SLURM | {"SLURM_STEP_NODELIST": nodes})
    found = detect(None)
    assert found.name == "slurm"
    assert (found.host(1), found.port()) == (host, 61440 + 70001 % 4096)
    assert (found.process_count(), found.process_index(), found.local_index()) == (8, 5, 1)
    assert detect("deactivate") is None


@pytest.mark.parametrize(
    ("uri", "host", "port"),
    [
        ("1531576320.0;tcp://10.96.0.1,10.148.0.1,10.108.0.1:34911", "10.96.0.1", 62624),
        ("1531576320.0;tcp://10.96.0.1:34911", "10.96.0.1", 62624),
        ("1314521088.0;tcp6://[fe80::b9b:ac5d,2620:10d:3000:2]:43370", "fe80::b9b:ac5d", 62880),
    ],
)
def test_open_mpi(monkeypatch, uri, host, port):
    set_all(monkeypatch, SLURM | OPEN_MPI | {"OMPI_MCA_orte_hnp_uri": uri})
    found = detect(None)  # mpirun may run in a job of Slurm
    assert found.name == "ompi"
    assert (found.host(1), found.port()) == (host, port)
    assert (found.process_count(), found.process_index(), found.local_index()) == (4, 3, 1)


def test_open_mpi_5_on_one_host_and_on_several(monkeypatch):
    set_all(monkeypatch, OPEN_MPI | {"PMIX_NAMESPACE": "prterun-login-7@1"})
    monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4")
    found = detect("ompi")
    assert found.host(1) == "127.0.0.1"
    assert 61440 <= found.port() < 65536
    monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2")
    with pytest.raises(ValueError, match=r"several hosts .* GLASSJAX_COORDINATOR_ADDRESS"):
        found.host(1)


def kubernetes(monkeypatch, pod, job):
    answers = {"pods": {"items": [pod]}, "jobs": job}

    def get(self, path):
        return answers[path.split(" ")[1].partition("?")[0].partition("/")[0]]

    monkeypatch.setattr(cluster.Kubernetes, "_get", get)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setattr(socket, "gethostbyname", lambda name: "10.1.2.3")
    monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments: [])
    return detect(None)


POD = {"metadata": {"labels": {"job-name": "train"}}, "spec": {"subdomain": "pods"}}
JOB = {"metadata": {"name": "train"}, "spec": {"parallelism": 16}}


def test_kubernetes(monkeypatch):
    found = kubernetes(monkeypatch, POD, JOB)
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "7")
    assert (found.host(1), found.port()) == ("train-0.pods", 55527)
    assert (found.process_count(), found.process_index(), found.local_index()) == (16, 7, None)
    in_set = {"name": "train", "labels": {"jobset.sigs.k8s.io/jobset-name": "set"}}
    assert kubernetes(monkeypatch, POD, JOB | {"metadata": in_set}).host(1) == "train-0.set"


def test_what_kubernetes_lacks_is_said(monkeypatch):
    alone = kubernetes(monkeypatch, POD | {"spec": {}}, JOB)
    with pytest.raises(RuntimeError, match=r"headless service .* spec\.template\.spec\.subdomain"):
        alone.host(1)
    with pytest.raises(RuntimeError, match=r"completionMode to Indexed"):
        alone.process_index()
    with pytest.raises(RuntimeError, match="does not belong to a Job"):
        kubernetes(monkeypatch, {"metadata": {}, "spec": {}}, JOB).host(1)
    found = kubernetes(monkeypatch, POD, JOB)

    def unknown(*arguments):
        raise socket.gaierror("not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(RuntimeError, match=r"process 0, train-0\.pods, was not found in 0 s"):
        found.host(0)


def test_kubernetes_without_an_account_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setattr(cluster.Kubernetes, "account", tmp_path)
    with pytest.raises(RuntimeError, match="no service account"):
        glassjax.distributed.initialize()
