use lease_harness_macros::leased_claims;

#[leased_claims(raed("schema"))]
#[test]
fn unknown_mode() {}

#[leased_claims(own("schema"))]
#[test]
fn no_mode() {}

#[leased_claims(read(" "))]
#[test]
fn blank() {}

#[leased_claims(read(7), write(name))]
#[test]
fn no_text() {}

#[leased_claims(read("schema"), write("schema "))]
#[test]
fn twice() {}

#[leased_claims]
#[test]
fn nothing() {}

#[leased_claims(wait = "10m")]
#[test]
fn only_an_option() {}

#[leased_claims(read())]
#[test]
fn no_resource() {}

#[leased_claims("schema")]
#[test]
fn without_a_mode() {}

#[leased_claims(read = "schema")]
#[test]
fn no_parentheses() {}

#[leased_claims(read("schema"), wait = 10, onwer = "ci", scope)]
#[test]
fn options() {}

fn main() {}
