//! Nextest's configuration, as far as it matters to what we put in front of the tests.

use std::path::{Path, PathBuf};

use crate::exit::{self, Failure};
use crate::inject::{self, OwnWords};
use crate::resolve::Surroundings;

/// The text of the configuration that was named, else of the workspace's; empty if there is none.
pub(super) fn text(words: &OwnWords<'_>, around: &Surroundings) -> Result<String, Failure> {
    let text = file(words, around).map(|path| around.read(&path)).transpose()?.flatten();
    Ok(text.unwrap_or_default())
}

/// Warns of wrapper scripts under which tests would run without a slot.
pub(super) fn warn_of_scripts(words: &OwnWords<'_>, around: &Surroundings) -> Result<(), Failure> {
    let files: Vec<_> = file(words, around).into_iter().chain(tool_files(words, around)).collect();
    let texts = files.iter().map(|path| Ok(around.read(path)?.unwrap_or_default())).collect::<Result<Vec<_>, Failure>>()?;
    for (file_idx, script) in inject::scripts_without_runner(&texts) {
        exit::warn(&format!(
            "{}: tests under the wrapper script '{script}' run without a slot, since nextest leaves the target runner \
             out; give it target-runner = \"around-wrapper\"",
            files[file_idx].display()
        ));
    }
    Ok(())
}

fn file(words: &OwnWords<'_>, around: &Surroundings) -> Option<PathBuf> {
    if let Some(named) = words.values(&["--config-file"]).pop() {
        return Some(around.absolute(Path::new(&named)));
    }
    let manifest = words.values(&["--manifest-path"]).pop().map(|path| around.absolute(Path::new(&path)));
    let start = manifest.as_deref().and_then(Path::parent).unwrap_or(&around.cwd);
    start.ancestors().map(|dir| dir.join(".config/nextest.toml")).find(|path| path.is_file())
}

/// Configurations of tools, each of which is named behind its tool.
fn tool_files(words: &OwnWords<'_>, around: &Surroundings) -> Vec<PathBuf> {
    let named = words.texts(&["--tool-config-file"]);
    named.iter().filter_map(|word| Some(around.absolute(Path::new(word.split_once(':')?.1)))).collect()
}
