//! The longer texts of the help.

pub(super) const LONG_ABOUT: &str = "\
Gives every test process a slot of its own, leased from a pool that all runs of this host share.

Many test runs share one machine: worktrees, CI jobs, a hook before a push. They fight over ports, databases and \
devices. `cargo lease` waits for a free slot of the pool, has it provisioned, shows it to the test as environment \
variables, keeps it alive while the test runs and gives it back however the test ends.";

/// Kept narrow, so that nothing wraps.
pub(super) const EXAMPLES: &str = "\
Examples:
  cargo lease test                        cargo test, each binary in a slot of its own
  cargo lease --wait 10m nextest run      nextest, each test in one; wait ten minutes at most
  cargo lease run -- psql                 any command in a slot
  cargo lease status --watch              who holds which slot, and who waits

Lease options come before the command. What follows `test`, `nextest` or `bench` belongs to the wrapped command, \
word for word; `run` takes options up to its `--`, `setup-script`, `status`, `store` and `pool` take theirs anywhere.";

pub(super) const MORE: &str = "\
The pool file is the first that is set of: --pool; LEASE_POOL_FILE; `pool` in [package.metadata.lease]; `pool` in \
[workspace.metadata.lease]; pool.json beside the workspace's manifest. Options beat the environment, the environment \
beats the pool file, and an empty value counts as unset.

Exit codes:
  0    done
  1    refused: no slot within the time, or it could not be made clean
  2    usage: a bad option, pool file or owner
  3    internal error
  75   the lease was lost while the command ran
  126  the command could not be started (127: it is not there)
  else the wrapped command's own";

/// What makes nextest run our setup script, in its own configuration.
pub(crate) const SETUP_IN_NEXTEST: &str = "\
\x20 experimental = [\"setup-scripts\"]

  [scripts.setup.lease]
  command = \"cargo lease setup-script\"

  [[profile.default.scripts]]
  filter = \"all()\"
  setup = \"lease\"";
