#!/usr/bin/env bash
# keep.sh COMMAND [ARGS]...
#
# Runs COMMAND in a slot that belongs to this process and is given back when it has ended, also by SIGKILL. COMMAND takes
# this script's place, so it is this process: same id, signals and exit code. Nobody tells it if the lease is lost.
set -euo pipefail

# Evaluated only if there is a grant: `eval "$(...)"` would go on without one.
grant=$(cargo-lease pool acquire --owner "${LEASE_OWNER:-$(id -un)@$(uname -n)}" --wait-ms 600000 --keep $$ --shell)
eval "$grant"
exec "$@"
