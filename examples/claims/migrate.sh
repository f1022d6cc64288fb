#!/bin/sh
# Changes the schema of the data set while nobody reads it: tests and other scripts that have claimed to read it are waited for,
# those that come later wait. Once more below `cargo lease run`, this script finds itself under its claim.
#
#     examples/claims/migrate.sh FOLDER COLUMN...
set -eu
case ${LEASE_CLAIMS-} in
*'"schema"'*) ;;
*) exec cargo-lease --wait "${MIGRATE_WAIT:-10m}" run --claim write:schema -- "$0" "$@" ;;
esac

folder=$1
shift
mkdir -p "$folder"
: >"$folder/schema"
printf '%s\n' "$@" >"$folder/schema"
