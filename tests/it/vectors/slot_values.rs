//! `slot-env.json` and `templates.json`: what is made of a slot's attributes.

use std::path::Path;

use lease_harness::json::{Json, object};
use lease_harness::pool::{PoolFile, PoolFileError};

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
    match (fill(slot, template), case.body.get("error")) {
        (Err(error), Some(recorded)) => compare_error(recorded, &Failure::usage(error), &mut Symbols::default()),
        (Err(error), None) => Err(format!("refused: {error}")),
        (Ok(_), Some(recorded)) => Err(format!("recorded {}, but is accepted", recorded.to_text())),
        (Ok((field, variable)), None) => {
            let value = case.body.get("value").and_then(Json::as_str);
            same(value.ok_or("recorded a function of JavaScript, but is a value")?, &field)?;
            same(text(&case.body, "as_env"), &variable)
        }
    }
}

/// What a template gives as a grant's field and as a grant's variable. Any value can be a field's template, but a
/// variable's must be text; so the text of one that is not is seen through an attribute.
fn fill(slot: &str, template: &str) -> Result<(String, String), PoolFileError> {
    let attributes = slot.strip_suffix('}').expect("a slot is an object");
    let as_text = if template.starts_with('"') { template } else { "\"{through}\"" };
    let file = format!(
        "{{\"slots\":[{attributes},\"through\":{template}}}],\"grantFields\":{{\"f\":{template}}},\"grantEnv\":{{\"V\":{as_text}}}}}"
    );
    let file = parse(&file)?;
    let slot = &file.slots()[0];
    let field = slot.grant_fields().get("f").expect("the field that the file names");
    Ok((field.to_text(), slot.grant_env()[0].1.clone()))
}

fn parse(text: &str) -> Result<PoolFile, PoolFileError> {
    PoolFile::parse(text, Path::new("pool.json"))
}

fn same(recorded: &str, actual: &str) -> Result<(), String> {
    if recorded == actual { Ok(()) } else { Err(format!("recorded {recorded}\n    but is {actual}")) }
}
