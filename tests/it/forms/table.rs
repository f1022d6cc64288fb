//! The table of the manual.

use std::collections::BTreeMap;
use std::fs;

use lease_tests::binary;

use super::cells::FORMS;

/// Row to cells, in the order of the forms.
pub(crate) fn rows() -> BTreeMap<String, Vec<String>> {
    let page = fs::read_to_string(binary::workspace().join("docs/which-form.md")).expect("the page is there");
    let lines = page.lines().skip_while(|line| !line.starts_with("| started by |"));
    let mut table = lines.take_while(|line| line.starts_with('|')).map(fields);
    let header = table.next().expect("the page has the table");
    assert_eq!(header.len(), FORMS.len() + 1, "a column for each form: {header:?}");
    table.skip(1).map(|mut fields| (fields.remove(0), fields)).collect()
}

/// A bar inside of a cell is written `\|`.
fn fields(line: &str) -> Vec<String> {
    let line = line.replace("\\|", "\u{0}");
    let fields = line.trim().trim_matches('|').split('|');
    fields.map(|field| field.replace('\u{0}', "|").trim().to_owned()).collect()
}
