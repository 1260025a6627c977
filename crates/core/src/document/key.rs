//! Metadata keys that this crate sets.
//!
//! Metadata may have any other keys. Loaders set the first four, splitters the next two, the ingestor
//! the rest. Except for the title, they are never taken from the content of a document.

/// Origin of a document: the path of a file relative to its root, with `/` between its parts.
/// Documents with the same source belong together, such as the pages of a file.
pub const SOURCE: &str = "source";
/// The name of the file, without its folders.
pub const FILE_NAME: &str = "file_name";
/// The title. Missing if the document has none.
pub const TITLE: &str = "title";
/// The number of the page, from 1.
pub const PAGE: &str = "page";
/// The number of the segment within its document, from 0.
pub const INDEX: &str = "index";
/// The headings above a segment, outermost first, separated by ` > `.
pub const HEADING: &str = "heading";
/// The collection that a segment belongs to, if one store holds several.
pub const COLLECTION: &str = "collection";
/// The digest of the input from which the segments of a source were created.
pub const DIGEST: &str = "digest";
/// The number of segments of the source.
pub const SEGMENTS: &str = "segments";

/// Keys that are never taken from the content of a document.
#[doc(hidden)]
pub const RESERVED: [&str; 8] =
    [SOURCE, FILE_NAME, PAGE, INDEX, HEADING, COLLECTION, DIGEST, SEGMENTS];
