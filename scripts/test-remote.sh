#!/usr/bin/env bash
# Data sets in stores that are not our own: moto as S3 (lists, ranges, If-Match, writes), nginx with a certificate that it made itself
# (https). Each has to give the bytes, labels and batches of the same files on the local disk, with and without the cache on disk. The
# command packs into buckets, in one run and in parts that are killed, and what is there has to be what it packs into a folder. Then the
# memory and time of opening many shards that nginx has; GPUFEED_FULL=1: 10,000 of them.
#
#   scripts/test-remote.sh [--quick]     with --quick tar shards in a bucket alone, which are read
#
# Installs nginx, and moto from PyPI into an environment (GPUFEED_REMOTE_HOME, ~/.cache/gpufeed-remote, 0.3 GB). Loopback only; servers have
# ports by the system, and end with the script. PYTHON: which Python makes the environment (python3). Needs bash, cargo and Python 3.9.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/system.sh
require_cargo
tests=()
targets=(--test stores)
case ${1-} in
    '') targets+=(--test bucket --test remote_memory) ;;
    --quick) tests=(tar_in_a_bucket) ;;
    *)
        echo 'usage: scripts/test-remote.sh [--quick]' >&2
        exit 2
        ;;
esac

step() { printf '\n== %s\n' "$*"; }

home=${GPUFEED_REMOTE_HOME:-$HOME/.cache/gpufeed-remote}
if ! PATH=$PATH:/usr/sbin command -v nginx >/dev/null; then
    step 'Installing nginx'
    install_packages nginx-light nginx nginx
fi
if ! "$home/venv/bin/python" -c 'import moto.server, cryptography' 2>/dev/null; then
    step 'Installing moto'
    rm -rf "$home/venv"
    mkdir -p "$home"
    "${PYTHON:-python3}" -m venv "$home/venv"
    "$home/venv/bin/python" -m pip install --quiet --no-cache-dir 'moto[server]==5.2.5' cryptography
fi

step 'Building'
# With `--no-run`: the servers do not wait for the compiler.
cargo test --quiet "${selected[@]}" "${targets[@]}" --no-run

step 'The same batches from moto and nginx'
# As users set them; moto takes any credentials.
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=hush-hush AWS_REGION=us-east-1 AWS_ALLOW_HTTP=true
"$home/venv/bin/python" scripts/remote/servers.py bash -c '
    export AWS_ENDPOINT_URL=$GPUFEED_TEST_S3 SSL_CERT_FILE=$GPUFEED_TEST_CERTIFICATES
    cargo test --quiet "$@"' -- "${selected[@]}" "${targets[@]}" -- --nocapture --test-threads 2 "${tests[@]}"
