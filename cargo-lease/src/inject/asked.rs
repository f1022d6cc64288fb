//! Questions to programs, whose answers come while other things are done.

use std::process::{Child, Command, Output, Stdio};

/// A program that was started for what it prints. The answer may turn out not to be needed.
pub(crate) struct Asked {
    /// None if it could not be started, or was waited for.
    program: Option<Child>,
}

impl Asked {
    /// Starts it.
    pub(crate) fn ask(command: &mut Command) -> Self {
        let asked = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { program: asked.spawn().ok() }
    }

    /// Waits for the answer; none if there was nobody to give it.
    pub(crate) fn told(mut self) -> Option<Output> {
        self.program.take()?.wait_with_output().ok()
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let Some(program) = &mut self.program {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}
