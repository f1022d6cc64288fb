#!/bin/sh
# What the pool does with a slot. The server is the one that PGHOST, PGPORT and PGUSER name.
set -eu

db=${POOL_SLOT_DB:?is not set: this script is run by the pool}
# Without this, dropping a database that is not there yet prints a notice at the first grant.
export PGOPTIONS='-c client_min_messages=warning'

case $POOL_ACTION in
provision | reset)
    # --force ends the connections that a killed test may have left.
    dropdb --maintenance-db=postgres --if-exists --force -- "$db"
    createdb --maintenance-db=postgres --template=template0 -- "$db"
    ;;
health)
    psql --no-psqlrc --quiet --output=/dev/null --command='SELECT 1' --dbname="$db"
    ;;
*)
    echo "database.sh: unknown POOL_ACTION \"$POOL_ACTION\"" >&2
    exit 1
    ;;
esac
