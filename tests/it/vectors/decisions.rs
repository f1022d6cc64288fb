//! Where we do not do what was recorded, and why. Only cases that do not bind may stand here.

/// One decision.
pub(super) struct Decision {
    /// The vector file, without its ending.
    pub(super) file: &'static str,
    /// The tag that leaves the choice.
    pub(super) tag: &'static str,
    /// The cases.
    pub(super) cases: &'static [&'static str],
    /// What we do.
    #[expect(dead_code, reason = "for the reader")]
    pub(super) what: &'static str,
    /// What we say, where it is a sentence for the user: a part of it.
    pub(super) said: Option<&'static str>,
    /// Why.
    #[expect(dead_code, reason = "for the reader")]
    pub(super) why: &'static str,
}

/// All decisions, by file.
pub(super) const DECISIONS: &[Decision] = &[
    Decision {
        file: "store-scenarios",
        tag: "js",
        cases: &["ttl refused: wrong type text", "ttl refused: wrong type true"],
        what: "refused as a number that is none",
        said: None,
        why: "a lifetime is a number by its type here; no caller can pass a text or a truth value",
    },
    Decision {
        file: "store-scenarios",
        tag: "quirk",
        cases: &["release of a record without an owner"],
        what: "the holder is null",
        said: None,
        why: "a key that is sometimes missing is harder to read than one that is null",
    },
    Decision {
        file: "store-scenarios",
        tag: "quirk",
        cases: &[
            "foreign record: key corrupt true makes it dead",
            "foreign record: key corrupt empty text / zero / text",
            "reconcile: a foreign record with key corrupt is reaped",
        ],
        what: "a key named corrupt is a key like any other",
        said: None,
        why: "unknown keys are kept and ignored; a live lease must not be taken over because of one",
    },
    Decision {
        file: "store-scenarios",
        tag: "legacy-date",
        cases: &[
            "heartbeat date: iso lower case t and z",
            "heartbeat date: iso blank instead of T",
            "heartbeat date: iso february 30",
            "heartbeat date: iso february 29 of no leap year",
            "heartbeat date: rfc 2822",
            "heartbeat date: rfc 2822 wrong weekday",
            "heartbeat date: us form",
            "heartbeat date: slashes",
            "heartbeat date: month name",
            "heartbeat date: small number as text",
        ],
        what: "only dates of ISO 8601 are dates",
        said: None,
        why: "the format's dates are ISO 8601 with milliseconds and Z; what one engine guesses beyond it differs between engines",
    },
    Decision {
        file: "store-scenarios",
        tag: "quirk",
        cases: &["heartbeat not text: number 2025", "heartbeat not text: number 0", "heartbeat not text: array with a date"],
        what: "a heartbeat that is no text is no date",
        said: None,
        why: "JavaScript makes a text of it first; the format's dates are texts",
    },
    Decision {
        file: "store-scenarios",
        tag: "quirk",
        cases: &["reconcile: owner missing, null, number, boolean, object"],
        what: "a record whose owner is no text is foreign, reported and not touched",
        said: None,
        why: "who cannot be told to be inside the fence is outside",
    },
    Decision {
        file: "owner-patterns",
        tag: "engine-version",
        cases: &["inline flag with colon is no syntax (node 20)"],
        what: "accepted",
        said: None,
        why: "it is ECMAScript since 2025, and newer engines accept it too",
    },
    Decision {
        file: "owner-patterns",
        tag: "utf16",
        cases: &["class with a character outside the basic plane, twice"],
        what: "a character outside the basic plane does not match as two halves",
        said: None,
        why: "the engine's classes hold whole characters; the safe side of a fence is to let nobody in by half a character",
    },
    Decision {
        file: "pool-files",
        tag: "quirk",
        cases: &["refused: id 1e400 is infinite"],
        what: "refused as an id that is no finite number",
        said: Some("slots[0] has an \"id\" that is no finite number"),
        why: "the sentence names the field that is wrong, not the name that would be made of it",
    },
    Decision {
        file: "pool-files",
        tag: "differs",
        cases: &["refused: cwd number is an internal error", "refused: cwd array is an internal error"],
        what: "a usage error that names the field",
        said: Some("usage error: \"cwd\" must be a string"),
        why: "the contract says so",
    },
    Decision {
        file: "templates",
        tag: "quirk",
        cases: &[
            "list method",
            "inherited: constructor, whole",
            "inherited: constructor, mixed",
            "inherited: toString, whole",
            "inherited: toString, mixed",
            "inherited: hasOwnProperty, mixed",
            "inherited: __proto__, mixed",
            "inherited: deep",
        ],
        what: "refused as an unknown attribute",
        said: Some("references unknown slot attribute"),
        why: "the contract says that a placeholder sees own attributes only",
    },
    Decision {
        file: "pool-scenarios",
        tag: "unsafe",
        cases: &["claim: a request id that climbs out of the grants folder"],
        what: "an unknown request",
        said: None,
        why: "an id of somebody's choice must not name a file outside of the grants",
    },
    Decision {
        file: "pool-scenarios",
        tag: "quirk",
        cases: &["the grant goes to whoever asks for the entry", "dequeue by another owner is accepted"],
        what: "only the owner of an entry is granted by it, and only the owner can remove it",
        said: None,
        why: "the contract says that leaving the queue checks the owner; a grant belongs to who waited for it",
    },
    Decision {
        file: "pool-scenarios",
        tag: "quirk",
        cases: &["blocking: timeout tells the place of the beginning"],
        what: "the place at the end of the wait is told",
        said: None,
        why: "it is the one that is true",
    },
    Decision {
        file: "pool-scenarios",
        tag: "quirk",
        cases: &["an entry with an unparsable heartbeat is not live but the sweep keeps it"],
        what: "the sweep drops it",
        said: None,
        why: "it counts for nobody, and would lie in the queue for ever",
    },
    Decision {
        file: "pool-scenarios",
        tag: "quirk",
        cases: &[
            "queue file is array: internal error",
            "queue file is null: internal error",
            "queue file is entries is an object: internal error",
            "stats file is object without durations: internal error",
            "stats file is array: internal error",
            "stats file is null: internal error",
        ],
        what: "what can be read of it counts, and the file is repaired at the next change",
        said: None,
        why: "the contract says so; one bad file must not stop every run of a host",
    },
    Decision {
        file: "pool-scenarios",
        tag: "quirk",
        cases: &["a slot record without owner in the status"],
        what: "the holder is null",
        said: None,
        why: "a key that is sometimes missing is harder to read than one that is null",
    },
    Decision {
        file: "pool-scenarios",
        tag: "differs",
        cases: &["a release of a record without acquiredAt does not sweep"],
        what: "every release that released something sweeps",
        said: None,
        why: "the contract says so",
    },
    Decision {
        file: "pool-scenarios",
        tag: "quirk",
        cases: &[
            "force without a bookkeeper: refused, but the slot is already free",
            "force without a bookkeeper at the same ms: refused all the same",
            "force with an owner outside the fence: refused after the release",
            "force with an owner outside the fence at the same ms: accepted",
        ],
        what: "refused before anything is deleted, whatever the clock says",
        said: None,
        why: "the contract says that a forced release that will be refused deletes nothing",
    },
    Decision {
        file: "pool-scenarios",
        tag: "differs",
        cases: &[
            "commands: an empty provision in the file switches it off",
            "commands: an empty reset in the file switches it off",
        ],
        what: "an empty command counts as not given",
        said: None,
        why: "the contract says that empty values count as unset, wherever they stand",
    },
    Decision {
        file: "cli",
        tag: "differs",
        cases: &[
            "lease: GIT_DIR of another repository is followed",
            "lease: GIT_DIR and GIT_WORK_TREE of another repository are followed",
            "lease: GIT_COMMON_DIR of another repository",
            "lease: GIT_DIR that does not exist: the working folder counts",
        ],
        what: "the repository around the working folder counts",
        said: Some("work/repo/logs is there"),
        why: "the contract says that what a hook exports is ignored: all that share a repository share its store",
    },
    Decision {
        file: "cli",
        tag: "differs",
        cases: &["pool: an empty --pool is refused even with LEASE_POOL_FILE set", "pool: --ttl \"\" is refused by the lease"],
        what: "an empty value counts as unset",
        said: Some("exit status: 0"),
        why: "the contract says so",
    },
    Decision {
        file: "cli",
        tag: "differs",
        cases: &["pool: a cwd that is no text is an internal error"],
        what: "a usage error that names file, field and value",
        said: Some("pool.json: \"cwd\" must be a string and is 5"),
        why: "the contract says so",
    },
    Decision {
        file: "cli",
        tag: "quirk",
        cases: &["pool: --wait-ms is not looked at with --no-wait"],
        what: "a value that is wrong is refused, whatever stands beside it",
        said: Some("invalid value 'soon' for '--wait-ms <N>'"),
        why: "a mistake that is found only some day later, when --no-wait is taken away, is harder to understand",
    },
    Decision {
        file: "cli",
        tag: "differs",
        cases: &["pool: release --force without a bookkeeper is refused and the slot is free all the same"],
        what: "the slot is still held",
        said: Some("\"state\":\"held\""),
        why: "the contract says that a forced release that will be refused deletes nothing",
    },
    Decision {
        file: "cli",
        tag: "differs",
        cases: &["pool: the lease is lost during provision: exit 3"],
        what: "the lease is kept alive while the slot is provisioned, so that it is not lost",
        said: Some("exit status: 0"),
        why: "the contract says that provision runs under a beating heartbeat; where it is lost all the same, that is a refusal",
    },
    Decision {
        file: "cli",
        tag: "quirk",
        cases: &["pool: a queue file that is no queue: exit 3"],
        what: "what can be read of it counts, and the file is repaired at the next change",
        said: Some("\"queue\":[]"),
        why: "the contract says so; one bad file must not stop every run of a host",
    },
    Decision {
        file: "cli",
        tag: "unsafe",
        cases: &["pool --shell: a prefix that is no name is printed as it is"],
        what: "the pool file is refused",
        said: Some("\"shellPrefix\" \"A B;C\" is not a valid environment variable name"),
        why: "what is printed is evaluated by a shell, and must set variables and do nothing else",
    },
];

/// Where a binding case and the contract say different things, and what we do.
pub(super) struct Contradiction {
    /// The vector file, without its ending.
    pub(super) file: &'static str,
    /// The cases. They agree.
    pub(super) cases: &'static [&'static str],
    /// What the contract says.
    #[expect(dead_code, reason = "for the reader")]
    pub(super) contract: &'static str,
    /// What we do.
    #[expect(dead_code, reason = "for the reader")]
    pub(super) what: &'static str,
    /// Why.
    #[expect(dead_code, reason = "for the reader")]
    pub(super) why: &'static str,
}

/// All contradictions, by file.
pub(super) const CONTRADICTIONS: &[Contradiction] = &[
    Contradiction {
        file: "cli",
        cases: &["lease: repeated flags, the last one counts", "pool --shell: owner with every legal character"],
        contract: "repeated flags are usage errors",
        what: "in the families for scripts the last one counts; the commands for people refuse a repeated one",
        why: "scripts that append to a list of options were written for programs where the last one counts",
    },
    Contradiction {
        file: "cli",
        cases: &["pool: cwd missing: exit 1"],
        contract: "a slot that could not be reset is a refusal, with the failure object on standard output",
        what: "the object is printed when a command ran and failed, and nothing when it could not even be run",
        why: "a folder that is not there says nothing about the slot; whoever asks later finds the object in the grant's file",
    },
];
