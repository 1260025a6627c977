//! PDF: one document a page.

mod font;
mod page;

use super::{LoadError, LoadErrorKind};
use crate::document::{Document, Metadata, key};
use font::Fonts;
use lopdf::content::Content;
use lopdf::{Document as Pdf, LoadOptions, Object, ObjectId};
use page::Page;

/// How many pages a file has, how large what is unpacked of it is, and how long its texts are together, at
/// most. A small file may be packed so that it is endless.
const MAX_PAGES: usize = 10_000;
const MAX_UNPACKED: usize = 32 * 1024 * 1024;
const MAX_TEXT: usize = 64 * 1024 * 1024;

/// How long a title is at most, in bytes.
const MAX_TITLE: usize = 1024;

/// The text of each page that has one.
pub(super) fn read(
    name: &str,
    bytes: &[u8],
    metadata: &Metadata,
) -> Result<Vec<Document>, LoadError> {
    let options = LoadOptions::with_max_decompressed_size(MAX_UNPACKED);
    let pdf = Pdf::load_mem_with_options(bytes, options).map_err(|error| fault(name, error))?;
    if pdf.is_encrypted() {
        return Err(encrypted(name));
    }
    let pages = pdf.get_pages();
    let too_large = |what: String| LoadError::new(name, LoadErrorKind::TooLarge, what);
    if pages.len() > MAX_PAGES {
        return Err(too_large(format!("has more than {MAX_PAGES} pages; split it")));
    }
    let mut metadata = metadata.clone();
    if let Some(title) = title(&pdf) {
        metadata.set(key::TITLE, title);
    }
    let mut documents = Vec::new();
    let mut length = 0;
    for (number, id) in pages {
        let text = text(&pdf, id).map_err(|error| fault(name, error))?;
        length += text.len();
        if length > MAX_TEXT {
            return Err(too_large(format!("has more than {MAX_TEXT} bytes of text; split it")));
        }
        if !text.is_empty() {
            documents.push(Document::new(text, metadata.clone().with(key::PAGE, number)));
        }
    }
    if documents.is_empty() {
        let reason = "has no text that can be read; if it was scanned, recognise its text first";
        return Err(LoadError::new(name, LoadErrorKind::Unsupported, reason));
    }
    Ok(documents)
}

fn text(pdf: &Pdf, id: ObjectId) -> lopdf::Result<String> {
    let content = pdf.get_page_content_with_limit(id, MAX_UNPACKED)?;
    let fonts = Fonts::of(pdf, id, MAX_UNPACKED);
    let mut page = Page::new(&fonts);
    for operation in Content::decode(&content)?.operations {
        page.apply(&operation);
    }
    Ok(page.finish())
}

/// What the file says of itself.
fn title(pdf: &Pdf) -> Option<String> {
    let info = pdf.trailer.get(b"Info").ok()?;
    let (_, info) = pdf.dereference(info).ok()?;
    let (_, title) = pdf.dereference(info.as_dict().ok()?.get(b"Title").ok()?).ok()?;
    let Object::String(..) = title else { return None };
    let title = lopdf::decode_text_string(title).ok()?;
    let title = title.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!title.is_empty() && title.len() <= MAX_TITLE).then(|| title.to_owned())
}

fn fault(name: &str, error: lopdf::Error) -> LoadError {
    match error {
        lopdf::Error::InvalidPassword
        | lopdf::Error::Decryption(_)
        | lopdf::Error::UnsupportedSecurityHandler(_) => encrypted(name).with_cause(error),
        error => {
            let reason = format!("is damaged: {error}");
            LoadError::new(name, LoadErrorKind::Damaged, reason).with_cause(error)
        }
    }
}

fn encrypted(name: &str) -> LoadError {
    LoadError::new(name, LoadErrorKind::Encrypted, "is encrypted; save it without a password")
}
