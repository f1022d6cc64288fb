//! The main job with a real database server: every test gets an empty database of its own slot.

use lease_tests::postgres::Postgres;
use serde_json::{Value, json};

use crate::crowd::{Crowd, N_TESTS, Spread, two_slots};
use crate::support::lab;

/// Drops and creates the slot's database. Who still works in it is thrown out first.
const PROVISION: &str = "rm -rf \"$POOL_SLOT_SCRATCH\" && mkdir \"$POOL_SLOT_SCRATCH\" &&
    psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --dbname \"$POOL_SLOT_ADMIN\" \
        --command \"drop database if exists $POOL_SLOT_DATABASE with (force)\" --command \"create database $POOL_SLOT_DATABASE\" && :";

#[test]
fn two_worktrees_share_two_databases() {
    let lab = lab();
    let server = Postgres::start(&lab);
    let mut slots = two_slots(&lab);
    for (slot, database) in slots.iter_mut().zip(["lease_a", "lease_b"]) {
        slot["database"] = json!(database);
        slot["url"] = json!(server.url(database));
        slot["admin"] = json!(server.url("postgres"));
    }
    let crowd = Crowd::with_pool(lab, Spread::OneEach, &pool(&slots));
    let runs = crowd.run_in_both(&["test", "--tests"], 2, 2);
    for run in runs {
        let run = run.expect_success();
        assert_eq!(run.stdout.matches("test result: ok. 1 passed").count(), N_TESTS, "{}", run.account());
    }
    crowd.check_history();
    crowd.check_unseen_by_git();
    drop(server);
}

fn pool(slots: &[Value]) -> Value {
    let env = json!({"PORT": "{port}", "SCRATCH": "{scratch}", "DATABASE_URL": "{url}"});
    json!({"slots": slots, "provision": PROVISION, "health": "psql --no-psqlrc --quiet --dbname \"$POOL_SLOT_URL\" --command 'select 1' > /dev/null && :", "grantEnv": env})
}
