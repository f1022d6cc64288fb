//! A debugger that people use. What it does beyond stopping a process is not ours; that a test has its slot in it is.

use super::project::Project;

#[test]
fn the_slot_is_there_at_the_first_breakpoint_and_is_given_back() {
    for (form, place) in [("process", "main"), ("slot", "a_test_is_at_work"), ("guard", "a_test_is_at_work")] {
        let project = Project::new();
        let mut command = project.lab.command("gdb");
        command.args(["-nx", "-batch", "-ex", "set breakpoint pending on", "-ex", &format!("break {place}"), "-ex", "run"]);
        command.args(["-ex", "shell cargo-lease pool --pool pool.json status", "-ex", "continue", "--args"]);
        command.arg(project.binary(form)).args(["first", "--exact"]);
        let run = project.run(project.within(command));
        assert!(run.stdout.contains("Breakpoint 1, "), "{}", run.account());
        assert_eq!(run.stdout.matches(r#""state":"held""#).count(), 1, "{}", run.account());
        assert!(run.stdout.contains("exited normally"), "{}", run.account());
        assert_eq!(project.n_granted("one"), project.seen().len());
    }
}
