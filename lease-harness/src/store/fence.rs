//! Fence numbers: every grant of a kind gets one larger than any before.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::error::StoreResult;
use crate::sys::disk::{self, At, DiskResult};

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
    /// None if there is none yet: a number that is not kept leaves nothing.
    counter: Option<File>,
    number: u64,
}

impl Drawn {
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Writes the counter. Only what was kept may be seen by anybody.
    pub(super) fn keep(self, dir: &Path) -> StoreResult<()> {
        let path = &self.path;
        let counter = self.counter.map_or_else(|| create(dir, path), Ok)?;
        let text = format!("{:0DIGITS$} {}\n", self.number, disk::boot_id());
        counter.write_all_at(text.as_bytes(), 0).at("write", path)?;
        Ok(())
    }
}

/// Draws the next number of `kind`. To be called inside the guard of that kind, which is what makes it unique.
///
/// A counter that is missing starts above `seen`, the number of the record that is replaced. One that is damaged starts
/// at the present time in milliseconds, which no count reaches.
pub(super) fn draw(dir: &Path, kind: &str, seen: Option<u64>, now_ms: i64) -> StoreResult<Drawn> {
    let path = path_of(dir, kind);
    let counter = disk::open_for_change(&path)?;
    let last = match &counter {
        None => 0,
        Some(counter) => last_in(counter).at("read", &path)?.unwrap_or_else(|| u64::try_from(now_ms).unwrap_or_default()),
    };
    let seen = seen.filter(|seen| *seen < LARGEST).unwrap_or_default();
    Ok(Drawn { path, counter, number: last.max(seen) + 1 })
}

/// The last number in a counter, none if it is damaged.
fn last_in(counter: &File) -> io::Result<Option<u64>> {
    // More than a counter has, so that what is too long is seen.
    let mut bytes = [0; 128];
    let n_read = counter.read_at(&mut bytes, 0)?;
    Ok(read_counter(&bytes[..n_read], disk::boot_id()))
}

fn path_of(dir: &Path, kind: &str) -> PathBuf {
    disk::path_in(dir, &[FOLDER, "/", kind])
}

fn read_counter(bytes: &[u8], boot: &str) -> Option<u64> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (digits, rest) = text.split_at_checked(DIGITS)?;
    let number: u64 = digits.parse().ok()?;
    let number = if rest.trim() == boot { number } else { number.checked_add(GAP_AFTER_BOOT)? };
    (number < LARGEST).then_some(number)
}

fn create(dir: &Path, path: &Path) -> DiskResult<File> {
    let open = || OpenOptions::new().write(true).create(true).truncate(false).open(path).at("open", path);
    disk::with_folder(&dir.join(FOLDER), open)
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
        let boot = crate::sys::disk::boot_id();
        draw(temp.path(), "k", None, 5).unwrap();
        for (number, boot) in [(u64::MAX, boot), (u64::MAX - 1, "another-boot"), (1 << 53, boot)] {
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
