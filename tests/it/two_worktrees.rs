//! The main job: two people run their tests at the same moment against a pool of two slots, and nobody collides.

use crate::crowd::{Crowd, N_TESTS, Spread};

#[test]
fn cargo_test_in_two_worktrees_shares_two_slots() {
    let crowd = Crowd::new(Spread::OneEach);
    let runs = crowd.run_in_both(&["test", "--tests"], 2, 2);
    for run in runs {
        let run = run.expect_success();
        assert_eq!(run.stdout.matches("test result: ok. 1 passed").count(), N_TESTS, "{}", run.account());
    }
    crowd.check_history();
    crowd.check_unseen_by_git();
}

#[cfg(feature = "nextest")]
#[test]
fn nextest_in_two_worktrees_shares_two_slots() {
    let crowd = Crowd::new(Spread::Together);
    let runs = crowd.run_in_both(&["nextest", "run"], 2, 4);
    for run in runs {
        let run = run.expect_success();
        assert!(run.stderr.contains(&format!("{N_TESTS} tests run: {N_TESTS} passed")), "{}", run.account());
    }
    crowd.check_history();
    crowd.check_unseen_by_git();
}
