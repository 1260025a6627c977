//! Text extraction from PDF: one document per page.

mod font;
mod page;
mod structure;

use super::{Deadline, LoadError, LoadErrorKind};
use ai_services_core::document::{Document, Metadata, key};
use font::Library;
use lopdf::content::Content;
use lopdf::{DecompressError, Document as Pdf, Object, ObjectId};
use page::Page;

/// Maximum number of pages in a file.
const MAX_PAGES: usize = 10_000;

/// Maximum length of the texts of all pages together, in bytes.
const MAX_TEXT: usize = 64 * 1024 * 1024;

/// Maximum size of a decompressed page in bytes. A small file can decompress to any size.
const MAX_UNPACKED: usize = 32 * 1024 * 1024;

/// Maximum number of operators and operands on a page. Each operator takes some hundred bytes of memory.
const MAX_OBJECTS: u64 = 2_000_000;

/// Maximum length of a title in bytes.
const MAX_TITLE: usize = 1024;

/// Returns one document per page with text.
pub(super) fn read(
    name: &str,
    bytes: &[u8],
    metadata: &Metadata,
    deadline: Deadline,
) -> Result<Vec<Document>, LoadError> {
    let pdf = structure::open(bytes).map_err(|error| load_error(name, error))?;
    if pdf.is_encrypted() {
        return Err(encrypted(name));
    }
    let pages = pdf.get_pages();
    let too_large = |reason: String| LoadError::new(name, LoadErrorKind::TooLarge, reason);
    if pages.len() > MAX_PAGES {
        return Err(too_large(format!("has more than {MAX_PAGES} pages; split it")));
    }
    let mut metadata = metadata.clone();
    if let Some(title) = title(&pdf) {
        metadata.set(key::TITLE, title);
    }
    let mut documents = Vec::new();
    let mut length = 0;
    let mut library = Library::new(&pdf);
    for (number, id) in pages {
        deadline.check(name)?;
        let text = text(&pdf, id, &mut library).map_err(|error| load_error(name, error))?;
        length += text.len();
        if length > MAX_TEXT {
            return Err(too_large(format!("has more than {MAX_TEXT} bytes of text; split it")));
        }
        if !text.is_empty() {
            documents.push(Document::new(text, metadata.clone().with(key::PAGE, number)));
        }
    }
    if documents.is_empty() {
        let reason = "has no text that can be read; if it was scanned, run text recognition first";
        return Err(LoadError::new(name, LoadErrorKind::Unsupported, reason));
    }
    Ok(documents)
}

fn text<'a>(pdf: &'a Pdf, id: ObjectId, library: &mut Library<'a>) -> lopdf::Result<String> {
    let content = pdf.get_page_content_with_limit(id, MAX_UNPACKED)?;
    if structure::objects_in(&content) > MAX_OBJECTS {
        return Err(structure::too_large());
    }
    let fonts = library.fonts(id);
    let mut page = Page::new(&fonts);
    for operation in Content::decode(&content)?.operations {
        page.apply(&operation);
    }
    Ok(page.finish())
}

/// Returns the title in the metadata of the file.
fn title(pdf: &Pdf) -> Option<String> {
    let info = pdf.trailer.get(b"Info").ok()?;
    let (_, info) = pdf.dereference(info).ok()?;
    let (_, title) = pdf.dereference(info.as_dict().ok()?.get(b"Title").ok()?).ok()?;
    let Object::String(..) = title else { return None };
    let title = lopdf::decode_text_string(title).ok()?;
    let title = title.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!title.is_empty() && title.len() <= MAX_TITLE).then(|| title.to_owned())
}

fn load_error(name: &str, error: lopdf::Error) -> LoadError {
    match error {
        lopdf::Error::InvalidPassword
        | lopdf::Error::Decryption(_)
        | lopdf::Error::UnsupportedSecurityHandler(_) => encrypted(name).with_cause(error),
        lopdf::Error::Decompress(DecompressError::MemoryLimitExceeded { .. }) => {
            let reason = "takes too much memory when decompressed; print it into another file";
            LoadError::new(name, LoadErrorKind::TooLarge, reason).with_cause(error)
        }
        error => {
            let reason = format!("is damaged: {error}");
            LoadError::new(name, LoadErrorKind::Damaged, reason).with_cause(error)
        }
    }
}

fn encrypted(name: &str) -> LoadError {
    LoadError::new(name, LoadErrorKind::Encrypted, "is encrypted; save it without a password")
}
