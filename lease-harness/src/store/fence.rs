//! Fence numbers: every grant of a kind gets one larger than any before.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::error::StoreResult;
use crate::sys::disk::{self, At};

const FOLDER: &str = ".fence";
/// A number is written in place with this many digits, so that one write always replaces it whole.
const DIGITS: usize = 20;
/// Nothing is flushed at a grant, so a power cut may lose the last numbers. After a new start of the machine this many
/// are left out; a gap is harmless.
const GAP_AFTER_BOOT: u64 = 1_000_000;

/// Numbers beyond this are not told apart by programs that count in doubles, and no count reaches them.
const LARGEST: u64 = (1 << 53) - 1;

/// The next number of `kind`, which counts once it is [kept](Drawn::keep).
#[derive(Debug)]
pub(super) struct Drawn {
    path: PathBuf,
    boot: String,
    number: u64,
}

impl Drawn {
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Writes the counter. Only what was kept may be seen by anybody.
    pub(super) fn keep(self, dir: &Path) -> StoreResult<()> {
        write_counter(dir, &self.path, self.number, &self.boot)
    }
}

/// Draws the next number of `kind`. To be called inside the guard of that kind, which is what makes it unique.
///
/// A counter that is missing starts above `seen`, the number of the record that is replaced. One that is damaged starts
/// at the present time in milliseconds, which no count reaches.
pub(super) fn draw(dir: &Path, kind: &str, seen: Option<u64>, now_ms: i64) -> StoreResult<Drawn> {
    let path = path_of(dir, kind);
    let boot = disk::boot_id().unwrap_or_default();
    let last = match disk::read(&path)? {
        None => 0,
        Some(bytes) => read_counter(&bytes, &boot).unwrap_or_else(|| u64::try_from(now_ms).unwrap_or_default()),
    };
    let seen = seen.filter(|seen| *seen < LARGEST).unwrap_or_default();
    Ok(Drawn { path, boot, number: last.max(seen) + 1 })
}

fn path_of(dir: &Path, kind: &str) -> PathBuf {
    dir.join(FOLDER).join(kind)
}

fn read_counter(bytes: &[u8], boot: &str) -> Option<u64> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (digits, rest) = text.split_at_checked(DIGITS)?;
    let number: u64 = digits.parse().ok()?;
    let number = if rest.trim() == boot { number } else { number.checked_add(GAP_AFTER_BOOT)? };
    (number < LARGEST).then_some(number)
}

fn write_counter(dir: &Path, path: &Path, number: u64, boot: &str) -> StoreResult<()> {
    let open = || OpenOptions::new().write(true).create(true).truncate(false).open(path);
    let file = open().or_else(|error| {
        if error.kind() != std::io::ErrorKind::NotFound {
            return Err(error);
        }
        fs::create_dir_all(dir.join(FOLDER))?;
        open()
    });
    let file = file.at("open", path)?;
    file.write_all_at(format!("{number:0DIGITS$} {boot}\n").as_bytes(), 0).at("write", path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{StoreResult, path_of};
    use std::fs;
    use std::path::Path;

    fn draw(dir: &Path, kind: &str, seen: Option<u64>, now_ms: i64) -> StoreResult<u64> {
        let drawn = super::draw(dir, kind, seen, now_ms)?;
        let number = drawn.number();
        drawn.keep(dir).map(|()| number)
    }

    #[test]
    fn numbers_grow_and_never_go_back() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        assert_eq!(draw(dir, "slot-1", None, 5).unwrap(), 1);
        assert_eq!(draw(dir, "slot-1", Some(1), 5).unwrap(), 2);
        assert_eq!(draw(dir, "slot-1", Some(70), 5).unwrap(), 71);
        assert_eq!(draw(dir, "slot-2", None, 5).unwrap(), 1);
        fs::remove_file(path_of(dir, "slot-1")).unwrap();
        assert_eq!(draw(dir, "slot-1", Some(71), 5).unwrap(), 72);
    }

    #[test]
    fn a_damaged_counter_starts_above_every_count() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(draw(temp.path(), "k", None, 5).unwrap(), 1);
        fs::write(path_of(temp.path(), "k"), "nonsense").unwrap();
        assert_eq!(draw(temp.path(), "k", None, 1_760_000_000_000).unwrap(), 1_760_000_000_001);
    }

    #[test]
    fn a_number_that_cannot_be_counted_on_is_damage() {
        let temp = tempfile::tempdir().unwrap();
        let boot = crate::sys::disk::boot_id().unwrap_or_default();
        draw(temp.path(), "k", None, 5).unwrap();
        for (number, boot) in [(u64::MAX, &*boot), (u64::MAX - 1, "another-boot"), (1 << 53, &boot)] {
            fs::write(path_of(temp.path(), "k"), format!("{number:020} {boot}\n")).unwrap();
            assert_eq!(draw(temp.path(), "k", None, 1_760_000_000_000).unwrap(), 1_760_000_000_001);
        }
        assert_eq!(draw(temp.path(), "k", Some((1 << 53) - 1), 5).unwrap(), 1_760_000_000_002);
    }

    #[test]
    fn a_start_of_the_machine_leaves_a_gap() {
        let temp = tempfile::tempdir().unwrap();
        draw(temp.path(), "k", None, 5).unwrap();
        fs::write(path_of(temp.path(), "k"), "00000000000000000007 another-boot\n").unwrap();
        assert!(draw(temp.path(), "k", None, 5).unwrap() > 1_000_000);
    }
}
