//! `pool`: slots, the queue for them, and what makes them clean.

use super::Need::{Always, UnlessForced};
use super::Takes::{Millis, Minutes, Nothing, Path, Process, Text};
use super::{Family, OWNER_PATTERN, Op, Operation, PRETTY, PoolOp, STORE_DIR, TO_ITSELF, flag};

pub(in crate::cli::script) const POOL: Family = Family {
    name: "pool",
    about: "For scripts: slots of a pool; prints one JSON object",
    flags: &[
        flag("owner", Text("OWNER"), "Who asks, or holds the slot"),
        flag("slot", Text("ID"), "The slot, as the pool file names it"),
        flag("token", Text("TOKEN"), "The token of the grant"),
        flag("request", Text("ID"), "The request, as `request` named it"),
        flag("session", Text("TEXT"), "What people see as the session [default: the owner]"),
        flag("ttl", Minutes, "Minutes that the lease lives after its last heartbeat [env: POOL_TTL_MINUTES]"),
        flag("wait-ms", Millis, "Longest wait for a slot, in milliseconds [default: for ever]"),
        flag("no-wait", Nothing, "Do not wait when no slot is free, whatever --wait-ms says"),
        flag("poll-ms", Millis, "Longest pause between two looks at the queue, in milliseconds [env: POOL_POLL_MS]"),
        flag("claim-within", Minutes, "Minutes that a granted slot waits to be claimed [default: the TTL]"),
        flag("keep", Process, "The lease lives as long as this process"),
        flag("force", Nothing, "Whoever holds it; the token does not matter then"),
        flag("shell", Nothing, "Print a grant as `export NAME='...'` lines for eval; stands behind the operation"),
        flag("pool", Path("FILE"), "The pool file [env: LEASE_POOL_FILE]"),
        STORE_DIR,
        OWNER_PATTERN,
        flag("provision-cmd", Text("COMMAND"), "Command that makes a slot clean [env: POOL_PROVISION_CMD]"),
        flag("reset-cmd", Text("COMMAND"), "Command that resets a held slot [env: POOL_RESET_CMD]"),
        flag("health-cmd", Text("COMMAND"), "Command that checks a slot [env: POOL_HEALTH_CMD]"),
        flag("nudge-cmd", Text("COMMAND"), "Command that tells a waiting session of its grant [env: POOL_NUDGE_CMD]"),
        PRETTY,
        TO_ITSELF,
    ],
    common: &["pool", "store", "owner-pattern", "pretty"],
    operations: &[
        Operation {
            name: "acquire",
            op: Op::Pool(PoolOp::Acquire),
            about: "Take a slot, waiting for one as long as asked",
            needs: &[Always("owner")],
            takes: &[
                "session",
                "ttl",
                "wait-ms",
                "no-wait",
                "poll-ms",
                "keep",
                "shell",
                "provision-cmd",
                "reset-cmd",
                "health-cmd",
            ],
            examples: "\
Prints the grant: slot, token, environment. Exit code 1 says that there is none: code \"saturated\" or \"timeout\", or a \
state that ends in \"failed\" when the slot could not be made clean. While it waits, a line on standard error tells each \
change of place. The lease lives by its TTL from then on: keep it alive with `cargo lease pool heartbeat`, let it follow a \
process with --keep, or use `cargo lease run`.

With --shell the grant is printed as assignments for a POSIX shell: the grant's environment, then <shellPrefix>_SLOT, \
<shellPrefix>_TOKEN and <shellPrefix>_OWNER; eval can expand nothing in them.

Examples:
  cargo lease pool acquire --owner ci --no-wait
  grant=$(cargo lease pool acquire --owner ci --shell) || exit
  eval \"$grant\"",
        },
        Operation {
            name: "request",
            op: Op::Pool(PoolOp::Request),
            about: "Queue for a slot, and claim it later",
            needs: &[Always("owner")],
            takes: &["session", "ttl", "claim-within", "poll-ms", "provision-cmd", "reset-cmd", "health-cmd", "nudge-cmd"],
            examples: "\
Prints its place at once, and leaves a process behind that waits for the slot, has it made clean, tells the session by a \
nudge, and keeps the slot until it is claimed, at most for --claim-within minutes. It outlives the shell, and gives up \
after POOL_WAITER_TIMEOUT_MS (an hour).

Examples:
  cargo lease pool request --owner ci --session 'release 1.4' --nudge-cmd 'notify-session'",
        },
        Operation {
            name: "claim",
            op: Op::Pool(PoolOp::Claim),
            about: "Have the slot of a request, or its place in the queue",
            needs: &[Always("request"), Always("owner")],
            takes: &["wait-ms", "keep", "shell"],
            examples: "\
Prints the grant to its owner, as often as asked while the lease lives; while it waits, its place, to anybody, which is no \
refusal: exit code 0, and JSON also with --shell. With --wait-ms it waits for the grant, and exit code 1 says that it did \
not come in time. The first claim takes over the duty to keep the lease alive: from then on it lives by its TTL, or with \
--keep as long as a process.

Examples:
  cargo lease pool claim --request \"$request\" --owner ci
  grant=$(cargo lease pool claim --request \"$request\" --owner ci --wait-ms 600000 --shell --keep $$) && eval \"$grant\"",
        },
        Operation {
            name: "cancel",
            op: Op::Pool(PoolOp::Cancel),
            about: "Give a request up, in the queue or granted",
            needs: &[Always("request"), Always("owner")],
            takes: &[],
            examples: "\
Leaves the queue, or gives the slot back, also one that is still being made clean. Only its owner can do that.

Examples:
  cargo lease pool cancel --request \"$request\" --owner ci",
        },
        Operation {
            name: "heartbeat",
            op: Op::Pool(PoolOp::Heartbeat),
            about: "Keep a slot's lease alive for another TTL",
            needs: &[Always("slot"), Always("owner"), Always("token")],
            takes: &[],
            examples: "\
Exit code 1 says that the slot is not ours any more: code \"expired\", \"not_owner\" or \"not_held\". Stop using it then.

Examples:
  cargo lease pool heartbeat --slot 1 --owner ci --token \"$POOL_LEASE_TOKEN\"",
        },
        Operation {
            name: "reset",
            op: Op::Pool(PoolOp::Reset),
            about: "Make a slot that we hold clean again",
            needs: &[Always("slot"), Always("owner"), Always("token")],
            takes: &["provision-cmd", "reset-cmd", "health-cmd"],
            examples: "\
Runs the pool's reset command, or its provision command if it has none, then its health command.

Examples:
  cargo lease pool reset --slot 1 --owner ci --token \"$POOL_LEASE_TOKEN\"",
        },
        Operation {
            name: "release",
            op: Op::Pool(PoolOp::Release),
            about: "Give a slot back",
            needs: &[Always("slot"), UnlessForced("owner"), UnlessForced("token")],
            takes: &["force"],
            examples: "\
Releasing what nobody holds is fine. With --force the slot is taken from whoever has it, and what still works on it is ended, in \
the name of --owner, or of the pool file's \"bookkeeper\".

Examples:
  cargo lease pool release --slot 1 --owner ci --token \"$POOL_LEASE_TOKEN\"
  cargo lease pool release --slot 1 --force --owner ops",
        },
        Operation {
            name: "reprovision",
            op: Op::Pool(PoolOp::Reprovision),
            about: "Make a slot that nobody holds clean again",
            needs: &[Always("slot"), Always("owner")],
            takes: &["ttl", "provision-cmd", "reset-cmd", "health-cmd"],
            examples: "\
Holds the slot while its reset and health commands run.

Examples:
  cargo lease pool reprovision --slot 1 --owner ops",
        },
        Operation {
            name: "health",
            op: Op::Pool(PoolOp::Health),
            about: "Run a slot's health command",
            needs: &[Always("slot")],
            takes: &["health-cmd"],
            examples: "\
Examples:
  cargo lease pool health --slot 1",
        },
        Operation {
            name: "status",
            op: Op::Pool(PoolOp::Status),
            about: "Show slots, holders and the queue",
            needs: &[],
            takes: &[],
            examples: "\
Exit code 0 whatever it shows. Takes no lock. `cargo lease status` shows the same to people.

Examples:
  cargo lease pool status | jq -r '.slots[] | select(.state == \"free\") | .slot_id'",
        },
        Operation {
            name: "pump",
            op: Op::Pool(PoolOp::Pump),
            about: "Clear away what the dead left, and show how the pool stands",
            needs: &[Always("owner")],
            takes: &[],
            examples: "\
Examples:
  cargo lease pool pump --owner ops",
        },
    ],
    examples: "\
Each operation prints exactly one JSON object on standard output (with --shell, lines for a shell) and everything else on \
standard error. An option may stand before or behind the operation; of a repeated one the last counts. The pool file is \
found as for all commands: see `cargo lease --help`.

Exit codes: 0 done (status: always), 1 refused, 2 usage, 3 internal.

Examples:
  grant=$(cargo lease pool acquire --owner ci --wait-ms 60000 --shell) || exit
  eval \"$grant\"
  cargo lease pool release --slot \"$POOL_LEASE_SLOT\" --owner ci --token \"$POOL_LEASE_TOKEN\"",
};
