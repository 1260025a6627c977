//! Loading of single files.

use super::value;
use ai_services::document::{LoadErrorKind, key, load_bytes, load_file, load_text};
use ai_services::{Error, ErrorKind};
use std::fs;

#[tokio::test]
async fn file_is_loaded_by_its_type() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("guide.md");
    fs::write(&path, "---\nauthor: Ann\n---\n# Guide\n\nRead it.").unwrap();
    let [guide] = <[_; 1]>::try_from(load_file(&path).await.unwrap()).unwrap();
    assert_eq!(guide.text(), "# Guide\n\nRead it.");
    let metadata = guide.metadata();
    assert_eq!(value(metadata, key::SOURCE).as_deref(), path.to_str());
    assert_eq!(value(metadata, key::FILE_NAME).as_deref(), Some("guide.md"));
    assert_eq!(value(metadata, key::TITLE).as_deref(), Some("Guide"));
    assert_eq!(value(metadata, "author").as_deref(), Some("Ann"));

    let plain = load_text(&path).await.unwrap();
    assert!(plain.text().starts_with("---\nauthor: Ann"));
    assert_eq!(value(plain.metadata(), key::TITLE), None);
}

#[tokio::test]
async fn unreadable_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.txt");
    for path in [missing.as_path(), folder.path()] {
        let error = load_file(path).await.unwrap_err();
        assert_eq!(error.kind(), LoadErrorKind::Read);
        assert_eq!(Some(error.name()), path.to_str());
    }
    let error = Error::from(load_text(&missing).await.unwrap_err());
    assert_eq!(error.kind(), ErrorKind::Media);
    assert!(error.detail::<std::io::Error>().is_some());
}

#[cfg(unix)]
#[tokio::test]
async fn pipe_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.txt");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let error = load_file(&pipe).await.unwrap_err();
    assert!(error.to_string().ends_with("is not a regular file"), "{error}");
}

#[tokio::test]
async fn bytes_have_a_name_and_a_type() {
    let documents = load_bytes("web/notes.md", b"# Notes".to_vec()).await.unwrap();
    let metadata = documents[0].metadata();
    assert_eq!(value(metadata, key::SOURCE).as_deref(), Some("web/notes.md"));
    assert_eq!(value(metadata, key::FILE_NAME).as_deref(), Some("notes.md"));
    assert_eq!(value(metadata, key::TITLE).as_deref(), Some("Notes"));
}

#[cfg(not(feature = "html"))]
#[tokio::test]
async fn missing_feature_is_named() {
    let error = load_bytes("a.html", b"<p>x</p>".to_vec()).await.unwrap_err();
    assert_eq!(error.kind(), LoadErrorKind::Unsupported);
    assert!(error.to_string().contains("feature `html`"), "{error}");
}

#[cfg(feature = "html")]
#[tokio::test]
async fn html_is_loaded_as_visible_text() {
    let html = b"<html><title>Tea</title><script>x()</script><p>Green.<p>Black.</html>";
    let documents = load_bytes("tea", html.to_vec()).await.unwrap();
    assert_eq!(documents[0].text(), "Green.\n\nBlack.");
    assert_eq!(value(documents[0].metadata(), key::TITLE).as_deref(), Some("Tea"));
}
