//! What matches patterns: a crate of its own, since it is the largest part of a build that has it and few need it.

#[cfg(feature = "owner-patterns")]
pub(super) use with::Pattern;
#[cfg(not(feature = "owner-patterns"))]
pub(super) use without::Pattern;

#[cfg(feature = "owner-patterns")]
mod with {
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use regress::Regex;

    use super::super::{quoted, shown};
    use crate::json::utf16_units;

    /// An ECMAScript pattern.
    #[derive(Debug)]
    pub(in crate::store::owner) struct Pattern(Arc<Regex>);

    impl Pattern {
        /// Fails with the message for people.
        pub(in crate::store::owner) fn new(pattern: &str) -> Result<Self, String> {
            Regex::new(pattern).map(|regex| Self(Arc::new(regex))).map_err(|error| {
                let (quoted, shown) = (quoted(pattern), shown(pattern));
                format!("invalid owner pattern {quoted}: Invalid regular expression: {shown}: {}", error.text)
            })
        }

        /// Matches as JavaScript does, by UTF-16 units. `None` when it takes too long; the thread that still tries ends with the
        /// process, which has nothing left to do but report. One that was in time has ended when this returns.
        pub(in crate::store::owner) fn matches_within(&self, owner: &str, limit: Duration) -> Option<bool> {
            let (tell, told) = mpsc::channel();
            let (regex, units) = (Arc::clone(&self.0), utf16_units(owner));
            let try_it = move || {
                let _ = tell.send(regex.find_from_ucs2(&units, 0).next().is_some());
            };
            let matching = std::thread::Builder::new().spawn(try_it).ok()?;
            let inside = told.recv_timeout(limit).ok()?;
            let _ = matching.join();
            Some(inside)
        }
    }
}

#[cfg(not(feature = "owner-patterns"))]
mod without {
    use std::time::Duration;

    use super::super::quoted;

    /// There is none.
    #[derive(Debug)]
    pub(in crate::store::owner) enum Pattern {}

    impl Pattern {
        pub(in crate::store::owner) fn new(pattern: &str) -> Result<Self, String> {
            let message = "this program knows no owner patterns but the default; build it with the feature `owner-patterns` of \
                           lease-harness";
            Err(format!("owner pattern {}: {message}", quoted(pattern)))
        }

        pub(in crate::store::owner) fn matches_within(&self, _owner: &str, _limit: Duration) -> Option<bool> {
            match *self {}
        }
    }
}
