use super::*;
use crate::error::ErrorKind;
use std::sync::Arc;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

#[test]
fn content_is_three_pointers_wide() {
    assert_eq!(size_of::<Content>(), 3 * size_of::<usize>());
}

#[test]
fn bytes_are_encoded_with_the_detected_type() {
    let image = ImageContent::bytes(PNG).unwrap();
    let expected = Media::base64("iVBORw0KGgoAAAANSUhEUg==", "image/png");
    assert_eq!(image.media(), &expected);
    assert_eq!(Content::bytes(PNG).unwrap(), Content::Image(image));
    let pdf = Content::bytes(b"%PDF-1.7").unwrap();
    assert!(matches!(pdf, Content::Pdf(_)), "{pdf:?}");
}

#[test]
fn bytes_are_encoded_in_the_padded_standard_alphabet() {
    let media = Media::bytes([0xFB, 0xFF, 0xFE, 0xFF], "image/x-icon").unwrap();
    assert_eq!(media, Media::base64("+//+/w==", "image/x-icon"));
}

#[test]
fn error_names_the_detected_type() {
    let error = AudioContent::bytes(PNG).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Media);
    assert_eq!(
        error.to_string(),
        "expected audio, found `image/png`; if that is wrong, name the type: \
         `AudioContent::new(Media::bytes(bytes, \"audio/…\")?)`"
    );
    let error = ImageContent::bytes(b"<!DOCTYPE html>\xFF").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the bytes begin with `<!DOCTYP`, which is not a known type; name the type: \
         `ImageContent::new(Media::bytes(bytes, \"…/…\")?)`"
    );
    let error = Content::bytes(b"").unwrap_err().to_string();
    assert!(error.starts_with("the data is empty"), "{error}");
}

#[test]
fn bytes_beyond_the_limit_are_an_error() {
    let mut large = PNG.to_vec();
    large.resize(Media::MAX_BYTES + 1, 0);
    assert_eq!(ImageContent::bytes(&large).unwrap_err().kind(), ErrorKind::Media);
    assert_eq!(Media::bytes(&large, "image/png").unwrap_err().kind(), ErrorKind::Media);
    assert_eq!(Content::bytes(&large).unwrap_err().kind(), ErrorKind::Media);
    assert!(ImageContent::bytes_up_to(&large, large.len()).is_ok());
    assert!(ImageContent::bytes_up_to(PNG, PNG.len() - 1).is_err());
    large.pop();
    assert!(ImageContent::bytes(large).is_ok());
}

#[tokio::test]
async fn file_is_read_up_to_the_limit() {
    let path = std::env::temp_dir().join(format!("ai-services-{}.jpg", std::process::id()));
    std::fs::write(&path, PNG).unwrap();
    let image = ImageContent::file(&path).await;
    let small = ImageContent::file_up_to(&path, PNG.len() - 1).await;
    let exact = ImageContent::file_up_to(&path, PNG.len()).await;
    let any = Content::file(&path).await;
    let wrong = PdfContent::file(&path).await;
    std::fs::remove_file(&path).unwrap();
    // The extension of the file names another type.
    assert_eq!(image.unwrap().media().media_type(), Some("image/png"));
    assert!(matches!(any.unwrap(), Content::Image(_)));
    assert!(exact.is_ok());
    assert_eq!(
        small.unwrap_err().to_string(),
        "the media have 16 bytes, but the limit is 15; `bytes_up_to` and `file_up_to` set a higher one"
    );
    assert!(wrong.unwrap_err().to_string().starts_with("expected a PDF document"));
}

#[tokio::test]
async fn path_without_a_file_is_an_error() {
    let missing = ImageContent::file("no/such/file.png").await.unwrap_err();
    assert!(missing.to_string().starts_with("cannot read `no/such/file.png`: "), "{missing}");
    let folder = ImageContent::file(".").await.unwrap_err();
    assert_eq!(folder.to_string(), "`.` is not a file");
}

#[test]
fn lists_options_and_pointers_yield_their_parts() {
    let image = || ImageContent::url("https://example.org/a.png");
    let expected = [Content::Image(image())];
    assert_eq!(image().to_contents(), expected);
    assert_eq!((&&image()).to_contents(), expected);
    assert_eq!(Some(image()).to_contents(), expected);
    assert_eq!([image()].to_contents(), expected);
    assert_eq!(Arc::<[_]>::from([image()]).to_contents(), expected);
    assert_eq!(Box::new(vec![image()]).to_contents(), expected);
    assert_eq!(None::<ImageContent>.to_contents(), []);
    let mixed = [Content::from("a"), image().into()];
    assert_eq!(mixed[..].to_contents(), mixed);
}

#[test]
fn clone_shares_the_bytes() {
    let image = ImageContent::bytes(PNG).unwrap();
    assert!(std::ptr::eq(image.media(), image.clone().media()));
}
