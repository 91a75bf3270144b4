"""Clusters: launchers and schedulers that tell a process its number and its peers.

Each is recognized by the environment variables that it sets, using only the standard library.
"""

import json
import os
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

# Ports for private use. A job's port is derived from its number, so that jobs do not collide.
_FIRST_PORT, _NUMBER_OF_PORTS = 61440, 4096


def _port_of_job(number: int) -> int:
    return _FIRST_PORT + number % _NUMBER_OF_PORTS


class Cluster:
    """A scheduler that starts the processes of a job and numbers them.

    Attributes:
        name: the name of the scheduler, as `cluster_detection_method` takes it.
        count, index, local: the environment variables with the number of processes, the index of
            this process, and its index on its host, if there is one.
    """

    name = count = index = local = ""

    def is_present(self) -> bool:
        """Return True if this process was started by this scheduler."""
        raise NotImplementedError(f"{type(self).__name__} must define is_present")

    def host(self, seconds: float) -> str:
        """The host of process 0, once its name can be resolved."""
        raise NotImplementedError(f"{type(self).__name__} must define host")

    def port(self) -> int:
        """The port on which process 0 is to serve."""
        raise NotImplementedError(f"{type(self).__name__} must define port")

    def process_count(self) -> int:
        return int(os.environ[self.count])

    def process_index(self) -> int:
        return int(os.environ[self.index])

    def local_index(self) -> int | None:
        """The index of this process on its host, if known."""
        return int(os.environ[self.local]) if self.local else None


def _are_set(*names: str) -> bool:
    return all(name in os.environ for name in names)


_ORTE_URI = "OMPI_MCA_orte_hnp_uri"  # Open MPI up to version 4


class OpenMPI(Cluster):
    """`mpirun` of Open MPI; no MPI library is needed."""

    name = "ompi"
    count, index = "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"
    local = "OMPI_COMM_WORLD_LOCAL_RANK"

    def is_present(self) -> bool:
        return _ORTE_URI in os.environ or _are_set(self.count, self.index, self.local)

    def host(self, seconds: float) -> str:
        # Such as "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911", or tcp6://[...].
        uri = os.environ.get(_ORTE_URI, "")
        found = re.search(r"tcp6?://\[?([^\],]+?)(?:[\],]|:\d+$)", uri)
        if found:
            return found[1]
        if os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE") == os.environ[self.count]:
            return "127.0.0.1"
        raise ValueError(
            "distributed.initialize: Open MPI 5 does not tell the processes of several hosts where "
            "process 0 runs. Give coordinator_address, or set GLASSJAX_COORDINATOR_ADDRESS, for "
            'instance by mpirun -x GLASSJAX_COORDINATOR_ADDRESS="$(hostname):62000"'
        )

    def port(self) -> int:
        uri = os.environ.get(_ORTE_URI)
        if uri:  # starts with the number of the job times 4096
            return _port_of_job(int(uri.split(".")[0]) // 4096)
        return _port_of_job(crc32(os.environ.get("PMIX_NAMESPACE", "").encode()))


class Slurm(Cluster):
    """`srun` of Slurm."""

    name = "slurm"
    count, index, local = "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID"

    def is_present(self) -> bool:
        return _are_set("SLURM_JOB_ID", "SLURM_STEP_NODELIST", self.count, self.index, self.local)

    def host(self, seconds: float) -> str:
        # The first of "node001", "node001,node007", "node[001-015],gpu3" or "node[001,007-015]".
        first = re.match(r"([^,\[]*)(?:\[([^,\-\]]*))?", os.environ["SLURM_STEP_NODELIST"])
        assert first is not None  # it may be empty
        return "".join(filter(None, first.groups()))

    def port(self) -> int:
        return _port_of_job(int(os.environ["SLURM_JOB_ID"]))


class Kubernetes(Cluster):
    """An indexed Job of Kubernetes, by itself or in a JobSet; asks the API server about it.

    The service account of the pod must be allowed to get jobs and list pods.
    """

    name = "k8s"
    account = Path("/var/run/secrets/kubernetes.io/serviceaccount")

    def is_present(self) -> bool:
        return "KUBERNETES_SERVICE_HOST" in os.environ

    def _get(self, path: str) -> Any:
        """The answer of the API server for a path within the namespace."""
        try:
            namespace = (self.account / "namespace").read_text().strip()
            token = (self.account / "token").read_text().strip()
            tls = ssl.create_default_context(cafile=str(self.account / "ca.crt"))
        except OSError as error:
            raise RuntimeError(
                f"distributed.initialize: this pod has no service account to ask Kubernetes about "
                f"its job: {error}. Mount one, or give coordinator_address, num_processes and "
                "process_id"
            ) from None
        host, port = (
            os.environ["KUBERNETES_SERVICE_HOST"],
            os.environ.get("KUBERNETES_SERVICE_PORT", "443"),
        )
        host = f"[{host}]" if ":" in host else host
        group, rest = path.split(" ")
        url = f"https://{host}:{port}/{group}/namespaces/{namespace}/{rest}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        direct = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls)
        )
        try:
            with direct.open(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            hint = ""
            if error.code == 403:
                hint = ". Its service account needs a role that may list pods and get jobs"
            raise RuntimeError(
                f"distributed.initialize: Kubernetes answers {error.code} {error.reason} to a "
                f"request of this pod for {rest}{hint}"
            ) from None
        except urllib.error.URLError as error:
            raise RuntimeError(
                f"distributed.initialize: Kubernetes cannot be asked at {host}:{port}: "
                f"{error.reason}"
            ) from None

    @cached_property
    def _pod(self) -> Any:
        address = socket.gethostbyname(os.environ.get("HOSTNAME") or socket.gethostname())
        pods = self._get(f"api/v1 pods?fieldSelector=status.podIP={address}")["items"]
        if len(pods) != 1:
            raise RuntimeError(
                f"distributed.initialize: Kubernetes knows {len(pods)} pods of address {address}, "
                "where this process runs; give coordinator_address, num_processes and process_id"
            )
        return pods[0]

    @cached_property
    def _job(self) -> Any:
        name = self._pod["metadata"].get("labels", {}).get("job-name")
        if name is None:
            raise RuntimeError(
                "distributed.initialize: this pod does not belong to a Job or JobSet of "
                "Kubernetes; give coordinator_address, num_processes and process_id"
            )
        return self._get(f"apis/batch/v1 jobs/{name}")

    def host(self, seconds: float) -> str:
        job = self._job["metadata"]
        domain = job.get("labels", {}).get("jobset.sigs.k8s.io/jobset-name")
        domain = domain or self._pod["spec"].get("subdomain")
        if domain is None:
            raise RuntimeError(
                "distributed.initialize: the pods of this job cannot reach each other by name. "
                "Make a headless service (clusterIP: None, publishNotReadyAddresses: true) that "
                f"selects job-name: {job['name']}, and name it in the job as spec.template.spec."
                "subdomain"
            )
        host = f"{job['name']}-0.{domain}"
        end = time.monotonic() + seconds
        while True:  # until the first pod has started
            try:
                socket.getaddrinfo(host, None)
                return host
            except socket.gaierror as error:
                if time.monotonic() > end:
                    raise RuntimeError(
                        f"distributed.initialize: the name of process 0, {host}, was not found in "
                        f"{seconds} s: {error}"
                    ) from None
                time.sleep(0.5)

    def port(self) -> int:
        return 55527

    def process_count(self) -> int:
        return int(self._job["spec"]["parallelism"])

    def process_index(self) -> int:
        try:
            return int(os.environ["JOB_COMPLETION_INDEX"])
        except KeyError:
            raise RuntimeError(
                "distributed.initialize: the pods of this job of Kubernetes have no numbers; set "
                "its spec.completionMode to Indexed"
            ) from None


# In the order of detection: mpirun may run within a job of another scheduler.
CLUSTERS = (OpenMPI, Slurm, Kubernetes)


def detect(method: str | None) -> Cluster | None:
    """The cluster of this process, or None if there is none.

    Arguments:
        method: the name of the only scheduler to look for, "deactivate" for none, or None for any.

    Raises:
        ValueError: there is no such scheduler, or it did not start this process.
    """
    if method == "deactivate":
        return None
    names = [cluster.name for cluster in CLUSTERS]
    if method is not None and method not in names:
        raise ValueError(
            "distributed.initialize: cluster_detection_method must be one of "
            f"{', '.join(map(repr, names))} and 'deactivate', or None, found {method!r}"
        )
    for cluster in CLUSTERS:
        if method in (None, cluster.name) and cluster().is_present():
            return cluster()
    if method is not None:
        raise ValueError(
            f"distributed.initialize: cluster_detection_method is {method!r}, and the environment "
            "of this process has no variables of it"
        )
    return None
