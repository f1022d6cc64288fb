//! What a collector found, as a table.

use lease_harness::harness::{Collection, Finding, Verdict};

use super::table::table;

/// The findings for people.
pub(crate) fn collection_table(collection: &Collection) -> String {
    if collection.findings.is_empty() {
        return "nothing is recorded\n".to_owned();
    }
    let rows: Vec<_> = collection.findings.iter().map(row).collect();
    let mut text = table(["WHAT", "", "WHY"], &rows);
    let would_go = |finding: &&Finding| matches!(finding.verdict, Verdict::WouldGo(_));
    if collection.findings.iter().any(|finding| would_go(&finding)) {
        text.push_str("\nnothing was removed; --apply does it\n");
    }
    text
}

fn row(finding: &Finding) -> [String; 3] {
    let what = if finding.what.is_empty() { &finding.id } else { &finding.what };
    let what = if what.is_empty() { &finding.maker } else { what };
    [what.clone(), finding.verdict.word().to_owned(), finding.verdict.reason().to_owned()]
}
