//! `claims`: sets of particular resources, shared or alone.

use super::Need::Always;
use super::Takes::{Claims, Json, Millis, Nothing, Text};
use super::{ClaimsOp, Family, Op, Operation, PRETTY, STORE_DIR, flag};

pub(in crate::cli::script) const CLAIMS: Family = Family {
    name: "claims",
    about: "For scripts: sets of resources, shared or alone; prints one JSON object",
    flags: &[
        flag("claim", Claims, "A resource and how it is wanted: read:KEY, write:KEY or exclusive:KEY; may be repeated"),
        flag("claims", Json, "More claims, as a JSON list of {\"resourceKey\", \"mode\", ...}"),
        flag("owner", Text("OWNER"), "Who holds them, or wants to"),
        flag("process", Text("ID"), "The process that has ended; its leases are those of the owner process:ID"),
        flag(
            "refs",
            Json,
            "The leases that are meant, as a JSON list of {\"leaseId\", \"fencingToken\", ...}; an answer's `leases` is one",
        ),
        flag("lease", Text("ID"), "The lease, as `acquire` named it"),
        flag("token", Text("N"), "Its fencing token"),
        flag("ttl-ms", Millis, "Milliseconds that the leases live without being renewed [default: 30000]"),
        flag("wait-ms", Millis, "Longest wait for what others hold, in milliseconds [default: do not wait]"),
        flag("ephemeral", Nothing, "Leave no events, no mark and no signal"),
        flag("identity", Json, "Who the owner is, as a JSON object: checkoutId, worktreeId, branch, principalId, ..."),
        flag("instance", Text("ID"), "The program that becomes the writer, or was it"),
        flag("generation", Text("N"), "Which of its generations, as `take-over` named it"),
        flag("scope", Text("ID"), "Claims of different scopes never meet [default: the repository's main checkout]"),
        STORE_DIR,
        PRETTY,
    ],
    common: &["scope", "store", "pretty"],
    operations: &[
        Operation {
            name: "acquire",
            op: Op::Claims(ClaimsOp::Acquire),
            about: "Take all claims of a set, or none",
            needs: &[Always("owner")],
            takes: &["claim", "claims", "ttl-ms", "wait-ms", "ephemeral", "identity"],
            examples: "\
Prints the leases with their fencing tokens, or, with exit code 1, what is in the way (after a wait code \"timeout\"). Leases of \
the same owner are not in the way. With --wait-ms who came first is served first; a waiting writer holds back readers that \
come later. Who holds something in the scope does not wait: code \"LEASE_HOLD_AND_WAIT\".

Examples:
  cargo lease claims acquire --owner ci --claim read:schema:orders --claim write:path:fixtures/users
  cargo lease claims acquire --owner ci --claim exclusive:device:1 --ttl-ms 60000 --wait-ms 600000",
        },
        Operation {
            name: "renew",
            op: Op::Claims(ClaimsOp::Renew),
            about: "Give leases another time to live",
            needs: &[Always("owner")],
            takes: &["refs", "ttl-ms"],
            examples: "\
All leases of the owner, or exactly those of --refs: all of them or none. Exit code 1 with code \"FENCING_TOKEN_STALE\" says \
that one of them is not ours any more. Stop using them then.

Examples:
  cargo lease claims renew --owner ci --ttl-ms 60000",
        },
        Operation {
            name: "release",
            op: Op::Claims(ClaimsOp::Release),
            about: "Give leases back",
            needs: &[Always("owner")],
            takes: &["refs"],
            examples: "\
All leases of the owner, or those of --refs that are still as they say; tells how many that were.

Examples:
  cargo lease claims release --owner ci",
        },
        Operation {
            name: "release-exact",
            op: Op::Claims(ClaimsOp::ReleaseExact),
            about: "Give leases back, if they are all that the owner has",
            needs: &[Always("owner"), Always("refs")],
            takes: &[],
            examples: "\
All or nothing: exit code 1 says that the owner has more, or other ones.

Examples:
  cargo lease claims release-exact --owner ci --refs \"$leases\"",
        },
        Operation {
            name: "release-process",
            op: Op::Claims(ClaimsOp::ReleaseProcess),
            about: "Give back what a process had that has ended",
            needs: &[Always("process"), Always("refs")],
            takes: &[],
            examples: "\
What is gone already is fine. What is still there must be recorded in --refs, as it is.

Examples:
  cargo lease claims release-process --process 4711 --refs \"$leases\"",
        },
        Operation {
            name: "assert",
            op: Op::Claims(ClaimsOp::Assert),
            about: "Check that a lease is held with this token",
            needs: &[Always("lease"), Always("token")],
            takes: &[],
            examples: "\
Exit code 1 with code \"LEASE_EXPIRED\" or \"FENCING_TOKEN_STALE\" says that it is not.

Examples:
  cargo lease claims assert --lease LEASE-1800000000000-0a1b2c3d --token 7",
        },
        Operation {
            name: "list",
            op: Op::Claims(ClaimsOp::List),
            about: "Show who holds what, and who waits",
            needs: &[],
            takes: &[],
            examples: "\
Takes no lock and writes nothing.

Examples:
  cargo lease claims list --pretty",
        },
        Operation {
            name: "take-over",
            op: Op::Claims(ClaimsOp::TakeOver),
            about: "Make a program the only one that writes claims",
            needs: &[Always("instance")],
            takes: &[],
            examples: "\
From now on acquire, renew and release are refused with code \"WRITER_FENCED\" for everybody whose environment does not name \
this instance and the printed generation: FORGE_WRITER_INSTANCE_ID, FORGE_WRITER_GENERATION. When it returns, nothing of an \
older one is under way any more. It counts for all scopes of the store.

Examples:
  cargo lease claims take-over --instance scheduler-2",
        },
        Operation {
            name: "step-down",
            op: Op::Claims(ClaimsOp::StepDown),
            about: "Let everybody write claims again",
            needs: &[Always("instance"), Always("generation")],
            takes: &[],
            examples: "\
Changes nothing, and says so, if another one has taken over meanwhile. Generations go on from where they were.

Examples:
  cargo lease claims step-down --instance scheduler-2 --generation 7",
        },
    ],
    examples: "\
A claim names a particular resource and a mode: `read` is shared, `write` and `exclusive` are alone. A set is granted whole or \
not at all; each lease has a fencing token that grows with every grant of its resource. Each operation prints exactly one \
JSON object on standard output and everything else on standard error. An option may stand before or behind the operation.

Exit codes: 0 done, 1 refused, 2 usage, 3 internal.

Examples:
  cargo lease claims acquire --owner ci --claim write:schema --wait-ms 60000
  cargo lease claims release --owner ci",
};
