//! `store`: one lease per kind.

use super::Need::{Always, UnlessForced};
use super::Takes::{Json, Millis, Minutes, Nothing, Process, Text};
use super::{Family, OWNER_PATTERN, Op, Operation, PRETTY, STORE_DIR, StoreOp, TO_ITSELF, flag};

pub(in crate::cli::script) const STORE: Family = Family {
    name: "store",
    about: "For scripts: one lease per kind; prints one JSON object",
    flags: &[
        flag("kind", Text("KIND"), "What is leased: lower-case letters, digits, and . _ - inside"),
        flag("owner", Text("OWNER"), "Who holds it, or wants to"),
        flag("token", Text("TOKEN"), "The token that the lease was acquired with"),
        flag("ttl", Minutes, "Minutes that the lease lives after its last heartbeat, more than 0 and at most 527040"),
        flag("payload", Json, "Anything that others are to see, as JSON [default: null]"),
        flag("wait-ms", Millis, "Longest wait for a lease that is held, in milliseconds [default: do not wait]"),
        flag("keep", Process, "The lease lives as long as this process"),
        flag("force", Nothing, "Whoever holds it; owner and token do not matter then"),
        STORE_DIR,
        OWNER_PATTERN,
        PRETTY,
        TO_ITSELF,
    ],
    common: &["store", "owner-pattern", "pretty"],
    operations: &[
        Operation {
            name: "acquire",
            op: Op::Store(StoreOp::Acquire),
            about: "Take a lease that is free or dead",
            needs: &[Always("kind"), Always("owner"), Always("ttl")],
            takes: &["payload", "wait-ms", "keep"],
            examples: "\
Prints code \"acquired\" with the record, whose token is needed for all that follows; or, with exit code 1, code \"held\" \
and who holds it, after a wait code \"timeout\".

Examples:
  cargo lease store acquire --kind merge --owner ci --ttl 10
  cargo lease store acquire --kind merge --owner ci --ttl 10 --wait-ms 60000 \\
    --payload '{\"why\": \"release 1.4\"}'",
        },
        Operation {
            name: "heartbeat",
            op: Op::Store(StoreOp::Heartbeat),
            about: "Keep a lease alive for another TTL",
            needs: &[Always("kind"), Always("owner"), Always("token")],
            takes: &[],
            examples: "\
Exit code 1 says that the lease is not ours any more: code \"expired\", \"not_owner\" or \"not_held\". A lease that has \
expired is not revived.

Examples:
  cargo lease store heartbeat --kind merge --owner ci --token \"$token\"",
        },
        Operation {
            name: "release",
            op: Op::Store(StoreOp::Release),
            about: "Give a lease back",
            needs: &[Always("kind"), UnlessForced("owner"), UnlessForced("token")],
            takes: &["force"],
            examples: "\
Releasing what nobody holds is fine. With --force it is taken from whoever has it, and the journal reaped.log tells.

Examples:
  cargo lease store release --kind merge --owner ci --token \"$token\"
  cargo lease store release --kind merge --force",
        },
        Operation {
            name: "status",
            op: Op::Store(StoreOp::Status),
            about: "Show how one kind stands",
            needs: &[Always("kind")],
            takes: &[],
            examples: "\
State \"free\", \"held\", or \"unknown\" for a lease that binds nobody any more. Exit code 0 in each case. Takes no lock.

Examples:
  cargo lease store status --kind merge | jq -r .state",
        },
        Operation {
            name: "reap",
            op: Op::Store(StoreOp::Reap),
            about: "Remove a lease that is dead; a live one stays",
            needs: &[Always("kind")],
            takes: &[],
            examples: "\
Examples:
  cargo lease store reap --kind merge",
        },
        Operation {
            name: "list",
            op: Op::Store(StoreOp::List),
            about: "Show every lease of the store",
            needs: &[],
            takes: &[],
            examples: "\
Examples:
  cargo lease store list | jq -r '.leases[] | select(.state == \"held\") | .kind'",
        },
        Operation {
            name: "reconcile",
            op: Op::Store(StoreOp::Reconcile),
            about: "Remove the dead leases of owners that belong here",
            needs: &[],
            takes: &[],
            examples: "\
What is outside of the owner pattern, or no lease, is reported as foreign and never touched.

Examples:
  cargo lease store reconcile --owner-pattern '^ci-[0-9]+$'",
        },
    ],
    examples: "\
Each operation prints exactly one JSON object on standard output and everything else on standard error. An option may \
stand before or behind the operation; of a repeated one the last counts.

Exit codes: 0 done (status: always), 1 refused, 2 usage, 3 internal.

Examples:
  token=$(cargo lease store acquire --kind merge --owner ci --ttl 10 | jq -r .record.token)
  cargo lease store release --kind merge --owner ci --token \"$token\"",
};
