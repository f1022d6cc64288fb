#!/bin/sh
# Makes a slot clean: its scratch folder is there and empty. Runs before every grant, in the folder of pool.json,
# with the slot's attributes in the environment.
set -eu

dir=${POOL_SLOT_DIR:?is not set: this script is run by the pool}
case $dir in
scratch/slot-*) ;;
*)
    echo "provision: \"$dir\" is not a folder under scratch/, so it is not deleted" >&2
    exit 1
    ;;
esac

rm -rf -- "$dir"
mkdir -p -- "$dir"
