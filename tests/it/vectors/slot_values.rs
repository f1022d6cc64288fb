//! `slot-env.json` and `templates.json`: what is made of a slot's attributes.

use std::path::Path;

use lease_harness::json::{Json, object};
use lease_harness::pool::PoolFile;

use super::failure::{Failure, compare_error};
use super::load::{Case, load, text};
use super::report;
use super::symbols::Symbols;

#[test]
fn slot_environments_agree() {
    report::check(&load("slot-env"), 48, 30, |case| {
        let file = parse(&format!("{{\"slots\":[{}]}}", text(&case.body, "slot"))).map_err(|error| error.to_string())?;
        let variables = file.slots()[0].env().iter().map(|(name, value)| (name.clone(), Json::from(value)));
        same(text(&case.body, "env"), &object(variables).to_text())
    });
}

#[test]
fn templates_agree() {
    report::check(&load("templates"), 81, 68, replay_template);
}

fn replay_template(case: &Case) -> Result<(), String> {
    let (slot, template) = (text(&case.body, "slot"), text(&case.body, "template"));
    let is_text = template.starts_with('"');
    // An environment takes templates that are text; any value can be a grant field.
    let env = if is_text { format!(",\"grantEnv\":{{\"V\":{template}}}") } else { String::new() };
    let parsed = parse(&format!("{{\"slots\":[{slot}],\"grantFields\":{{\"f\":{template}}}}}"));
    let file = match (parsed, case.body.get("error")) {
        (Ok(file), None) => file,
        (Err(error), Some(recorded)) => return compare_error(recorded, &Failure::usage(error), &mut Symbols::default()),
        (Err(error), None) => return Err(format!("refused: {error}")),
        (Ok(_), Some(recorded)) => return Err(format!("recorded {}, but is accepted", recorded.to_text())),
    };
    let value = file.slots()[0].grant_fields().get("f").expect("the field that the file names");
    let recorded = case.body.get("value").and_then(Json::as_str).ok_or("recorded a function of JavaScript, but is a value")?;
    same(recorded, &value.to_text())?;
    if env.is_empty() {
        return Ok(());
    }
    let file = parse(&format!("{{\"slots\":[{slot}]{env}}}")).map_err(|error| error.to_string())?;
    same(text(&case.body, "as_env"), &file.slots()[0].grant_env()[0].1)
}

fn parse(text: &str) -> Result<PoolFile, lease_harness::pool::PoolFileError> {
    PoolFile::parse(text, Path::new("pool.json"))
}

fn same(recorded: &str, actual: &str) -> Result<(), String> {
    if recorded == actual { Ok(()) } else { Err(format!("recorded {recorded}\n    but is {actual}")) }
}
