//! Detection of files that are deleted or replaced while they are open.

use super::error_mapping::TaskFailure;
use std::path::{Path, PathBuf};

/// The files of an open database, with their device and inode.
///
/// A process can delete or rename a file that another process has open. SQLite then continues to write to the
/// old file, which cannot be opened any more.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenFiles(Vec<(PathBuf, Identity)>);

/// Device and inode. Equal for all files on systems that do not permit to delete an open file.
type Identity = (u64, u64);

impl OpenFiles {
    /// Records the database file, its write-ahead log and its index. The database must be open.
    pub(super) fn of(path: &Path) -> Self {
        let file = |suffix| {
            let mut path = path.as_os_str().to_owned();
            path.push(suffix);
            let path = PathBuf::from(path);
            let identity = identity(&path)?;
            Some((path, identity))
        };
        Self(["", "-wal", "-shm"].into_iter().filter_map(file).collect())
    }

    /// Fails if a path no longer leads to the open file.
    pub(super) fn check(&self) -> Result<(), TaskFailure> {
        let is_lost = |(path, known): &&(PathBuf, Identity)| identity(path) != Some(*known);
        match self.0.iter().find(is_lost) {
            None => Ok(()),
            Some((path, _)) => {
                Err(TaskFailure::FileLost { path: path.clone(), may_be_applied: false })
            }
        }
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;

    let metadata = path.metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<Identity> {
    Some((0, 0))
}
