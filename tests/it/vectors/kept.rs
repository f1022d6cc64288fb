//! Cases of claims that leave a choice, where we do what was recorded, and why.

/// What we keep of what need not be kept.
pub(super) struct Kept {
    /// The tag that leaves the choice.
    pub(super) tag: &'static str,
    /// The cases.
    pub(super) cases: &'static [&'static str],
    /// What we do.
    #[expect(dead_code, reason = "for the reader")]
    pub(super) what: &'static str,
    /// Why.
    #[expect(dead_code, reason = "for the reader")]
    pub(super) why: &'static str,
}

/// All of `claims-scenarios.json`.
pub(super) const KEPT: &[Kept] = &[
    Kept {
        tag: "fault",
        cases: &["time to live that is not a number is an error before any change"],
        what: "an error before any change: of the command line, or LEASE_TTL_INVALID where the lease would outlast every date",
        why: "the recorded fault is only that the error is one of the engine's",
    },
    Kept {
        tag: "fault",
        cases: &["renewal with NaN is an error and the first record is untouched"],
        what: "no caller can ask for it, and a set is renewed by one write",
        why: "the recorded fault is only that the error is one of the engine's",
    },
    Kept {
        tag: "limit",
        cases: &["clock set back lengthens leases"],
        what: "a lease ends at a time of the clock on the wall",
        why: "that is what other processes and machines can read; who dies is seen by his proof of life before that",
    },
    Kept {
        tag: "limit",
        cases: &["renewal is not clamped: 1 s is taken as said"],
        what: "a renewal may be short",
        why: "who gives up soon says so by that",
    },
    Kept {
        tag: "limit",
        cases: &[
            "renewal: the same id twice in the expectation counts once, the last one wins",
            "renewal with an empty expectation renews nothing and is no error",
            "release with an expectation skips what does not match, silently",
        ],
        what: "the same",
        why: "programs rely on it, and nothing is granted by it; `release-exact` is there for who wants to be sure",
    },
    Kept {
        tag: "limit",
        cases: &[
            "mixed visibilities in one release: events per lease, the last lease decides mark and wake",
            "mixed visibilities, the other order",
        ],
        what: "the same",
        why: "an owner that mixes them is rare, and waiters of ours watch the files and not the signal",
    },
    Kept {
        tag: "limit",
        cases: &["other files in active/ are ignored and never removed"],
        what: "the same for the folder of owners",
        why: "what is no record of ours is somebody else's",
    },
    Kept {
        tag: "fault",
        cases: &["an error in the middle of a set leaves the tokens taken and no lease"],
        what: "nothing is granted, and no token is used either",
        why: "numbers are drawn first and written in one line; a gap would be harmless",
    },
    Kept {
        tag: "limit",
        cases: &["many records: 4999 others", "more than 5000 records: the 5001st and later"],
        what: "no number of leases hides another",
        why: "the folder is listed whole; an index tells which owners to look at, and nothing is left out of it",
    },
];
