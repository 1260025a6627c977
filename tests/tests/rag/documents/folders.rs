//! Loading of folders.

use super::value;
use ai_services::document::{DirectoryLoader, LoadErrorKind, key};
use futures_util::StreamExt;
use std::fs;
use std::path::Path;

fn write(folder: &Path, files: &[(&str, &[u8])]) {
    for (name, content) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Returns the sources of all documents, and the errors as text, in order.
async fn loaded(loader: &DirectoryLoader) -> Vec<String> {
    let documents = loader.documents().map(|document| match document {
        Ok(document) => value(document.metadata(), key::SOURCE).unwrap(),
        Err(error) => format!("{:?} {}", error.kind(), error.name()),
    });
    documents.collect().await
}

#[tokio::test]
async fn folders_are_read_in_the_order_of_names() {
    let folder = tempfile::tempdir().unwrap();
    let files: [(&str, &[u8]); 7] = [
        ("b/c.txt", b"1"),
        ("b/a.md", b"2"),
        ("a.txt", b"3"),
        ("c.TXT", b"4"),
        ("b.txt", b"5"),
        ("picture.png", b"6"),
        ("README", b"7"),
    ];
    write(folder.path(), &files);
    let loader = DirectoryLoader::new(folder.path());
    let expected = ["a.txt", "b/a.md", "b/c.txt", "b.txt", "c.TXT"];
    assert_eq!(loaded(&loader).await, expected);
    let sources: Vec<_> = loader.sources().map(Result::unwrap).collect().await;
    assert_eq!(sources, expected);
}

#[tokio::test]
async fn failed_file_does_not_stop_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let files: [(&str, &[u8]); 4] =
        [("a.txt", b"fine"), ("b.txt", b"\xFF"), ("c.txt", b"much too long"), ("d.txt", b"")];
    write(folder.path(), &files);
    let loader = DirectoryLoader::new(folder.path()).max_file_size(10);
    assert_eq!(loaded(&loader).await, ["a.txt", "Encoding b.txt", "TooLarge c.txt", "d.txt"]);
    assert_eq!(loaded(&loader.max_file_size(13)).await[2], "c.txt");
}

#[tokio::test]
async fn patterns_select_files() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["a.md", "x/b.md", "x/old/c.md", "x/d.rs", "node_modules/e.md"];
    write(folder.path(), &names.map(|name| (name, b"x".as_slice())));
    let loader = || DirectoryLoader::new(folder.path());
    let got = loaded(&loader().exclude("**/old").exclude("node_modules")).await;
    assert_eq!(got, ["a.md", "x/b.md"]);
    assert_eq!(loaded(&loader().include("x/*")).await, ["x/b.md", "x/d.rs"]);
    assert_eq!(loaded(&loader().extensions([".RS"])).await, ["x/d.rs"]);
}

#[cfg(unix)]
#[tokio::test]
async fn files_outside_of_the_folder_are_not_read() {
    use std::os::unix::fs::symlink;
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(outside.path(), &[("secret.txt", b"x")]);
    write(folder.path(), &[("a.txt", b"x"), (".hidden/b.txt", b"x"), (".c.txt", b"x")]);
    symlink(outside.path(), folder.path().join("folder")).unwrap();
    symlink(outside.path().join("secret.txt"), folder.path().join("file.txt")).unwrap();
    symlink(folder.path(), folder.path().join("loop")).unwrap();
    assert_eq!(loaded(&DirectoryLoader::new(folder.path())).await, ["a.txt"]);
}

#[cfg(unix)]
#[tokio::test]
async fn file_name_that_is_not_unicode_is_an_error() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(OsStr::from_bytes(name));
    fs::write(path(b"\xFF.txt"), "x").unwrap();
    fs::create_dir(path(b"\xFE")).unwrap();
    // Not selected, so its name does not matter.
    fs::write(path(b"\xFF.png"), "x").unwrap();
    let expected = ["Read \u{fffd}", "Read \u{fffd}.txt"];
    assert_eq!(loaded(&DirectoryLoader::new(folder.path())).await, expected);
}

#[tokio::test]
async fn missing_folder_hides_everything() {
    let folder = tempfile::tempdir().unwrap();
    let loader = DirectoryLoader::new(folder.path().join("gone"));
    let errors: Vec<_> = loader.documents().map(Result::unwrap_err).collect().await;
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].kind(), LoadErrorKind::Read);
    assert!(errors[0].covers("anything.md"));
    assert!(errors[0].to_string().starts_with("the root cannot be read: "));
}

#[tokio::test]
async fn depth_of_folders_is_limited() {
    let folder = tempfile::tempdir().unwrap();
    let deep = "d/".repeat(70);
    write(folder.path(), &[("z.txt", b"x"), (&format!("{deep}x.txt"), b"x")]);
    let got = loaded(&DirectoryLoader::new(folder.path())).await;
    assert_eq!(got, [format!("TooLarge {}", "d/".repeat(64)), "z.txt".to_owned()]);
}
