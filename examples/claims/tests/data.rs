//! The tests share one data set with each other, and with every other run on this host: other worktrees, CI jobs, hooks.
//! What each of them reads and writes stands above it.

use std::io::Result;
use std::path::Path;

use claims_example::Data;
use lease_harness::{ClaimSet, leased_claims};

/// One folder for all runs of this checkout.
fn data() -> Result<Data> {
    Data::open(Path::new(env!("CARGO_TARGET_TMPDIR")).join("shared-data"))
}

/// Changes the schema, so that nobody may read it meanwhile.
#[leased_claims(write("schema"))]
#[test]
fn a_migration_adds_a_column() -> Result<()> {
    let data = data()?;
    data.migrate(&["name"])?;
    data.migrate(&["name", "born"])?;
    assert_eq!(data.columns()?, ["name", "born"]);
    Ok(())
}

/// Readers share the schema. A run on a fresh machine has none yet, so that this one makes one if it has to.
#[leased_claims(read("schema"))]
#[test]
fn a_reader_never_sees_half_a_schema() -> Result<()> {
    let data = data()?;
    let columns = data.columns()?;
    for _ in 0..20 {
        assert_eq!(data.columns()?, columns);
    }
    Ok(())
}

/// Two tests that need different users in the same table: each has the table to itself, and reads the schema meanwhile.
#[leased_claims(read("schema"), write("path:fixtures/users"))]
#[test]
fn nobody_is_called_grace() -> Result<()> {
    let data = data()?;
    data.load_users(&["ada", "alan"])?;
    assert!(!data.users()?.contains(&"grace".to_owned()));
    Ok(())
}

#[leased_claims(read("schema"), write("path:fixtures/users"))]
#[test]
fn grace_is_the_only_one(claims: ClaimSet) -> Result<()> {
    let data = data()?;
    data.load_users(&["grace"])?;
    assert_eq!(data.users()?, ["grace"]);
    // What a database could compare: a number larger than that of everybody who had the users before.
    assert!(claims.fence("path:fixtures/users").is_some());
    Ok(())
}

/// Another table is another path: nobody of the above is in the way.
#[leased_claims(read("schema"), write("path:fixtures/orders"))]
#[test]
fn orders_do_not_wait_for_users() -> Result<()> {
    assert!(data()?.columns().is_ok());
    Ok(())
}
