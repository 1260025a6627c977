//! Traversal of a folder and its subfolders.

use super::format::{EXTENSIONS, extension};
use super::glob::Glob;
use super::{Bounds, LoadError, LoadErrorKind};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec::IntoIter;
use tokio::task::spawn_blocking;

/// Maximum nesting depth of folders.
const MAX_DEPTH: usize = 64;

/// Maximum number of files and folders in one folder.
const MAX_ENTRIES: usize = 1_000_000;

/// The root folder and the filters for its files.
#[derive(Clone, Debug, Default)]
pub(super) struct Selection {
    pub(super) root: PathBuf,
    pub(super) extensions: Option<Vec<String>>,
    pub(super) include: Vec<Glob>,
    pub(super) exclude: Vec<Glob>,
    pub(super) bounds: Bounds,
}

impl Selection {
    fn includes(&self, name: &str) -> bool {
        if !self.include.is_empty() {
            return self.include.iter().any(|glob| glob.matches(name));
        }
        let Some(extension) = extension(name) else { return false };
        match &self.extensions {
            Some(extensions) => extensions.contains(&extension),
            None => EXTENSIONS.contains(&extension.as_str()),
        }
    }

    fn excludes(&self, name: &str) -> bool {
        self.exclude.iter().any(|glob| glob.matches(name))
    }
}

/// A file or folder in the root folder.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    /// Path relative to the root, with `/` as the separator.
    pub(super) name: String,
}

/// A depth-first traversal in the order of names. Holds only the listings of the current folder and its
/// parents.
pub(super) struct Walk {
    selection: Arc<Selection>,
    open: Vec<IntoIter<Entry>>,
    has_started: bool,
}

struct Entry {
    found: Found,
    kind: Kind,
    /// `true` if the file name is not valid Unicode; `name` is then a lossy conversion.
    has_lossy_name: bool,
}

#[derive(Clone, Copy)]
enum Kind {
    File,
    Folder,
}

impl Walk {
    pub(super) fn new(selection: Arc<Selection>) -> Self {
        Self { selection, open: Vec::new(), has_started: false }
    }

    /// Returns the next selected file.
    pub(super) async fn next(&mut self) -> Option<Result<Found, LoadError>> {
        if !self.has_started {
            self.has_started = true;
            let root = self.selection.root.clone();
            if let Err(error) = self.enter(root, "").await {
                return Some(Err(error));
            }
        }
        loop {
            let Some(Entry { found, kind, has_lossy_name }) = self.open.last_mut()?.next() else {
                self.open.pop();
                continue;
            };
            if self.selection.excludes(&found.name) {
                continue;
            }
            match kind {
                Kind::File if !self.selection.includes(&found.name) => {}
                _ if has_lossy_name => {
                    let reason = "has a file name that is not valid Unicode; rename it";
                    return Some(Err(LoadError::new(found.name, LoadErrorKind::Read, reason)));
                }
                Kind::File => return Some(Ok(found)),
                Kind::Folder => {
                    let prefix = found.name + "/";
                    if let Err(error) = self.enter(found.path, &prefix).await {
                        return Some(Err(error));
                    }
                }
            }
        }
    }

    async fn enter(&mut self, path: PathBuf, prefix: &str) -> Result<(), LoadError> {
        if self.open.len() >= MAX_DEPTH {
            let reason =
                format!("is nested more than {MAX_DEPTH} folders deep; load it separately");
            return Err(LoadError::new(prefix, LoadErrorKind::TooLarge, reason));
        }
        let name = prefix.to_owned();
        let listed = spawn_blocking(move || list(&path, &name)).await;
        let entries = listed.map_err(|error| {
            LoadError::new(prefix, LoadErrorKind::Read, "cannot be listed").with_cause(error)
        })??;
        self.open.push(entries.into_iter());
        Ok(())
    }
}

/// Lists the files and folders in a folder, without hidden files and links.
fn list(path: &Path, prefix: &str) -> Result<Vec<Entry>, LoadError> {
    let fail = |error| LoadError::read(prefix, error);
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let file_name = entry.file_name();
        let kind = match entry.file_type().map_err(fail)? {
            _ if file_name.as_encoded_bytes().starts_with(b".") => continue,
            kind if kind.is_dir() => Kind::Folder,
            kind if kind.is_file() => Kind::File,
            // Links, pipes, devices.
            _ => continue,
        };
        if entries.len() >= MAX_ENTRIES {
            let reason = format!("has more than {MAX_ENTRIES} files and folders");
            return Err(LoadError::new(prefix, LoadErrorKind::TooLarge, reason));
        }
        let name = format!("{prefix}{}", file_name.to_string_lossy());
        let has_lossy_name = file_name.to_str().is_none();
        entries.push(Entry { found: Found { path: entry.path(), name }, kind, has_lossy_name });
    }
    entries.sort_by(|a, b| a.found.name.cmp(&b.found.name));
    Ok(entries)
}
