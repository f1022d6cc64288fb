//! The places of `#[leased_claims]`, and what is asked for a test there.

use std::time::Duration;

use super::claims_turn::{self, ClaimsTurn};
use super::end::{lost, stop_when_claims_are_lost};
use super::lease::{or_panic, or_report};
use super::request::{explain, guarded};
use crate::harness::{ClaimRequest, ClaimSet, LossWatch, SlotError, Wait, background, claims_of, tell_claims_place, workspace};

/// One use of the attribute: which test, which claims, which options.
#[derive(Clone, Debug)]
pub struct ClaimsSite {
    module: &'static str,
    function: &'static str,
    /// Mode and key.
    claims: &'static [(&'static str, &'static str)],
    ttl_minutes: Option<f64>,
    wait: Wait,
    owner: Option<&'static str>,
    scope: Option<&'static str>,
    should_panic: bool,
}

impl ClaimsSite {
    /// The test `function` in `module` (as `module_path!` has it), with these claims.
    pub const fn new(module: &'static str, function: &'static str, claims: &'static [(&'static str, &'static str)]) -> Self {
        Self { module, function, claims, ttl_minutes: None, wait: Wait::Forever, owner: None, scope: None, should_panic: false }
    }

    /// TTL in minutes.
    pub const fn ttl_minutes(self, minutes: f64) -> Self {
        Self { ttl_minutes: Some(minutes), ..self }
    }

    /// Wait at most so many milliseconds.
    pub const fn wait_millis(self, millis: u64) -> Self {
        Self { wait: Wait::For(Duration::from_millis(millis)), ..self }
    }

    /// Do not wait.
    pub const fn wait_not(self) -> Self {
        Self { wait: Wait::No, ..self }
    }

    /// Who asks.
    pub const fn owner(self, owner: &'static str) -> Self {
        Self { owner: Some(owner), ..self }
    }

    /// Where claims meet.
    pub const fn scope(self, scope: &'static str) -> Self {
        Self { scope: Some(scope), ..self }
    }

    /// Whether the test passes by panicking.
    pub const fn should_panic(self, should_panic: bool) -> Self {
        Self { should_panic, ..self }
    }

    fn without(&self, reason: &str) -> String {
        let claims: Vec<_> = self.claims.iter().map(|(mode, key)| format!("`{mode}:{key}`")).collect();
        let module = self.module.split_once("::").map_or_else(String::new, |(_, module)| format!("{module}::"));
        format!("no claims {} for the test `{module}{}`: {reason}", claims.join(", "), self.function)
    }

    fn request(&self) -> Result<ClaimRequest, SlotError> {
        let mut request = ClaimRequest::new().claims(claims_of(self.claims)?).wait(self.wait).on_wait(tell_claims_place);
        // A test runs in its package's folder: outside of repositories the workspace is what tests have in common.
        if let Some(workspace) = workspace() {
            request = request.outside(workspace);
        }
        if let Some(minutes) = self.ttl_minutes {
            request = request.ttl_minutes(minutes);
        }
        if let Some(owner) = self.owner {
            request = request.owner(owner);
        }
        if let Some(scope) = self.scope {
            request = request.scope(scope);
        }
        Ok(request)
    }
}

/// What a test has beside its claims while its body runs; dropped after them, also when the body panics.
#[derive(Debug)]
pub struct ClaimsLease {
    loss: LossWatch,
    _turn: ClaimsTurn,
}

impl Drop for ClaimsLease {
    fn drop(&mut self) {
        if let Some(reason) = self.loss.reason() {
            lost(reason);
        }
    }
}

type Entered = Result<(ClaimsLease, ClaimSet), String>;

/// Takes the claims for the test. Without them the test panics.
#[track_caller]
pub fn claims(site: &'static ClaimsSite) -> (ClaimsLease, ClaimSet) {
    or_panic(|reason| site.without(reason), enter(site))
}

/// Like [`claims`]; but a test that would pass by panicking is given `None`, and stderr the reason.
#[track_caller]
pub fn claims_or_report(site: &'static ClaimsSite) -> Option<(ClaimsLease, ClaimSet)> {
    or_report(site.should_panic, |reason| site.without(reason), enter(site))
}

/// Like [`claims`], without blocking the thread.
pub async fn claims_async(site: &'static ClaimsSite) -> (ClaimsLease, ClaimSet) {
    or_panic(|reason| site.without(reason), enter_async(site).await)
}

/// Like [`claims_or_report`], without blocking the thread.
pub async fn claims_or_report_async(site: &'static ClaimsSite) -> Option<(ClaimsLease, ClaimSet)> {
    or_report(site.should_panic, |reason| site.without(reason), enter_async(site).await)
}

/// A test that runs inside of another on its thread must not wait: what it waits for may be that one's.
fn enter(site: &ClaimsSite) -> Entered {
    let is_inside = claims_turn::is_taken_by_this_thread();
    let request = || site.request().map(|request| if is_inside { request.wait(Wait::No) } else { request });
    let hint = if is_inside { "; it runs inside another test with claims, and so does not wait" } else { "" };
    let set = guarded(|| request()?.acquire()).map_err(|error| format!("{}{hint}", explain(&error)))?;
    let turn = claims_turn::take(site.scope, site.claims).map_err(|error| error.to_string())?;
    Ok(entered(set, turn))
}

async fn enter_async(site: &'static ClaimsSite) -> Entered {
    let work = |given_up| {
        let set = guarded(|| site.request()?.give_up_when(given_up).acquire()).map_err(|error| explain(&error))?;
        Ok(entered(set, claims_turn::take_elsewhere(site.scope, site.claims)))
    };
    background::run(work).await.map_err(|error| error.to_string())?
}

fn entered(set: ClaimSet, turn: ClaimsTurn) -> (ClaimsLease, ClaimSet) {
    stop_when_claims_are_lost(&set);
    (ClaimsLease { loss: set.loss_watch(), _turn: turn }, set)
}
