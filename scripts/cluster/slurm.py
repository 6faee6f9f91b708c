"""Slurm on one machine: a controller and two nodes of two processors each, without systemd and without cgroups.

Everything lies in one folder: configuration, munge's key and socket, spool folders, logs. Ports are the system's. `stop` ends
the processes that `start` has started, each by its own id.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "salloc", "scontrol", "squeue", "sinfo", "scancel")
# Debian's folder of daemons is not on every PATH.
PATH = os.environ["PATH"] + ":/usr/local/sbin:/usr/sbin:/sbin"


def missing() -> list[str]:
    """The programs that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, all different."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


CONFIGURATION = """\
ClusterName=gpufeed
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
# A requeued job may begin once its credentials have run out: after two minutes by default.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
JobCompType=jobcomp/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,batch_sched_delay=0
ReturnToService=2
KillWait=1
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=2
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=2
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
"""


class Slurm:
    """A running cluster. `environment` has the variables with which Slurm's commands find it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": PATH}
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        self.folder.mkdir(mode=0o700)
        (self.folder / "state").mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        controller, first, second = free_ports(3)
        user = subprocess.run(["id", "-un"], check=True, capture_output=True, text=True).stdout.strip()
        text = CONFIGURATION.format(
            host=socket.gethostname(), user=user, folder=self.folder, controller=controller, first=first, second=second
        )
        (self.folder / "slurm.conf").write_text(text)
        files = [f"--{name}={self.folder}/munge.{name.split('-')[0]}" for name in ("socket", "pid-file", "log-file", "seed-file")]
        self._run("munged", "munged", "--foreground", "--force", f"--key-file={key}", *files)
        self._wait("munge's socket", lambda: (self.folder / "munge.socket").exists())
        self._run("slurmctld", "slurmctld", "-D")
        for node in ("n1", "n2"):
            self._run(f"slurmd-{node}", "slurmd", "-D", "-N", node)
        self._wait("both nodes", lambda: self.say("sinfo", "--noheader", "--Node", "--format=%T").split() == ["idle"] * 2)

    def _run(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.out").open("wb") as output:
            self._processes.append(
                subprocess.Popen(
                    command, env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output
                )
            )

    def _wait(self, what: str, holds) -> None:
        end = time.monotonic() + 60
        while not holds():
            ended = [process.args[0] for process in self._processes if process.poll() is not None]
            if ended or time.monotonic() > end:
                raise RuntimeError(f"Slurm: no {what}; ended: {ended}\n{self.logs()}")
            time.sleep(0.1)

    def logs(self) -> str:
        """The last lines of every log."""
        logs = sorted(self.folder.glob("*.log"))
        tail = lambda log: "".join(log.read_text(errors="replace").splitlines(keepends=True)[-15:])  # noqa: E731
        return "\n".join(f"-- {log.name}\n{tail(log)}" for log in logs)

    def say(self, *command: str) -> str:
        """The output of one of Slurm's commands; empty if it fails."""
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60).stdout

    def shown(self, job: str, key: str) -> str:
        """What `scontrol show job` says of a job: JobState is PENDING, RUNNING, COMPLETED, FAILED, ..."""
        words = self.say("scontrol", "--oneliner", "show", "job", job).split()
        return next((word.split("=", 1)[1] for word in words if word.startswith(f"{key}=")), "")

    def stop(self) -> None:
        """Ends all jobs, then the daemons, the last one that was started first."""
        self.say("scancel", "--user", subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip())
        end = time.monotonic() + 20
        while self.say("squeue", "--noheader").strip() and time.monotonic() < end:
            time.sleep(0.2)
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
