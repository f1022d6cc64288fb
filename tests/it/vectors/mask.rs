//! What differs from run to run in the output of a program, in the way the recorded texts spell it.

use std::time::{SystemTime, UNIX_EPOCH};

use lease_harness::store::parse_time;

const TIME_LENGTH: usize = "2026-10-04T12:10:00.000Z".len();
const ID_LENGTH: usize = 36;
/// A time that is farther away was not made by this run.
const NEAR_MS: f64 = 2.0 * 86_400_000.0;

/// The text with `$NOW` for times of this run, `"$MS"` for spans that end now, the numbers of waiters as texts, and without
/// the members that we add to payloads.
pub(super) fn mask(text: &str) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    mask_at(text, since.as_secs_f64() * 1e3)
}

fn mask_at(text: &str, now_ms: f64) -> String {
    let text = without_member(text, "alive", |value| value.strip_prefix('"').map_or(0, |_| ID_LENGTH + 2));
    let text = without_member(&text, "fence", n_digits);
    let text = with_number(&text, "expiresInMs", |_| "$MS".to_owned());
    let text = with_number(&text, "expiredForMs", |_| "$MS".to_owned());
    with_now(&with_number(&text, "waiter_pid", str::to_owned), now_ms)
}

fn with_now(text: &str, now_ms: f64) -> String {
    let is_near = |time: &str| time.ends_with('Z') && parse_time(time).is_some_and(|at| (at - now_ms).abs() < NEAR_MS);
    let mut masked = String::new();
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let is_time = char.is_ascii_digit() && rest.get(..TIME_LENGTH).is_some_and(is_near);
        masked.push_str(if is_time { "$NOW" } else { &rest[..char.len_utf8()] });
        rest = &rest[if is_time { TIME_LENGTH } else { char.len_utf8() }..];
    }
    masked
}

/// Every number of a member replaced by a text.
fn with_number(text: &str, key: &str, shown: impl Fn(&str) -> String) -> String {
    each_member(text, key, |before, value| {
        let length = n_digits(value);
        let number = if length == 0 { String::new() } else { format!("\"{}\"", shown(&value[..length])) };
        (format!("{before}{number}"), length)
    })
}

/// Every member removed, with the comma before it.
fn without_member(text: &str, key: &str, length_of: impl Fn(&str) -> usize) -> String {
    each_member(text, key, |before, value| {
        let name = before.rfind('"').and_then(|end| before[..end].rfind('"')).unwrap_or(0);
        (before[..name].trim_end().trim_end_matches(',').to_owned(), length_of(value))
    })
}

/// For each member `key`, the text so far with its name, and what follows, become the text so far and the length that it
/// stands for.
fn each_member(text: &str, key: &str, each: impl Fn(&str, &str) -> (String, usize)) -> String {
    let name = format!("\"{key}\":");
    let mut done = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(&name) {
        let value = rest[at + name.len()..].trim_start();
        done.push_str(&rest[..rest.len() - value.len()]);
        let (so_far, length) = each(&done, value);
        done = so_far;
        rest = &value[length..];
    }
    done + rest
}

fn n_digits(text: &str) -> usize {
    text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || "-.".contains(c)).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_this_run_are_masked_and_others_are_not() {
        let now = parse_time("2026-10-04T12:10:00.000Z").expect("a time");
        let masked = mask_at("grüß 2026-10-06T12:09:59.999Z, 2026-10-02T12:10:00.001Z, 2026-10-06T12:10:00.000Z", now);
        assert_eq!(masked, "grüß $NOW, $NOW, 2026-10-06T12:10:00.000Z");
    }

    #[test]
    fn spans_and_numbers_become_texts_and_our_members_vanish() {
        let id = "6f1c9a52-0f0b-4f7e-9f43-0d8f3a3f9b10";
        let compact =
            format!("{{\"expiresInMs\":-12.5,\"p\":{{\"mode\":\"x\",\"alive\":\"{id}\",\"fence\":3}},\"waiter_pid\":7}}");
        assert_eq!(mask(&compact), "{\"expiresInMs\":\"$MS\",\"p\":{\"mode\":\"x\"},\"waiter_pid\":\"7\"}");
        let pretty = "{\n  \"mode\": \"x\",\n  \"fence\": 3\n}, \"expiredForMs\": null";
        assert_eq!(mask(pretty), "{\n  \"mode\": \"x\"\n}, \"expiredForMs\": null");
    }
}
