//! What a file system is like.

use std::path::Path;

use super::DiskResult;

/// What matters to us of a file system.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileSystem {
    /// Its name, if it is shared over a network, where locks and renames do not hold.
    pub(crate) network: Option<&'static str>,
    /// Whether a new file costs so much that one is rather written anew, if nobody has it open.
    pub(crate) has_dear_files: bool,
    /// Whether a read that gives less than there is room for has come to the end of the file.
    pub(crate) reads_whole: bool,
}

/// Tells what the file system of a folder is like.
#[cfg(target_os = "linux")]
pub(crate) fn file_system(dir: &Path) -> DiskResult<FileSystem> {
    use super::At;

    const NETWORKS: [(u32, &str); 11] = [
        (0x6969, "NFS"),
        (0x517B, "SMB"),
        (0xFF53_4D42, "CIFS"),
        (0xFE53_4D42, "SMB2"),
        (0x0102_1997, "9P"),
        (0x5346_414F, "AFS"),
        (0x7375_7245, "Coda"),
        (0x00C3_6400, "Ceph"),
        (0x0BD0_0BD0, "Lustre"),
        (0x4750_4653, "GPFS"),
        (0x0116_1970, "GFS2"),
    ];
    /// That of ext2 and ext3, too.
    const EXT4: u32 = 0xEF53;
    const TMPFS: u32 = 0x0102_1994;
    let stat = rustix::fs::statfs(dir).at("look at the file system of", dir)?;
    // The type is a signed word whose width differs between machines; the magic numbers have 32 bits.
    #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "only the low 32 bits carry the number")]
    let magic = stat.f_type as u32;
    let network = NETWORKS.iter().find(|(number, _)| *number == magic).map(|(_, name)| *name);
    Ok(FileSystem { network, has_dear_files: magic == EXT4, reads_whole: [EXT4, TMPFS].contains(&magic) })
}

/// Elsewhere nobody is refused by name.
#[cfg(not(target_os = "linux"))]
pub(crate) fn file_system(_dir: &Path) -> DiskResult<FileSystem> {
    Ok(FileSystem::default())
}
