//! The keys that this crate gives to metadata.
//!
//! Metadata may have any others. Loaders set the first four, splitters the next two, the ingestor the
//! rest; none of them is taken from what a document says of itself, but for the title.

/// Where a document comes from: the path of a file relative to its root, with `/` between its parts.
/// Documents with the same source are parts of one, such as the pages of a file.
pub const SOURCE: &str = "source";
/// The name of the file, without its folders.
pub const FILE_NAME: &str = "file_name";
/// The title, if the document has one.
pub const TITLE: &str = "title";
/// The number of the page, from 1.
pub const PAGE: &str = "page";
/// The number of the segment within its document, from 0.
pub const INDEX: &str = "index";
/// The headings that a segment stands under, outermost first, with ` > ` between them.
pub const HEADING: &str = "heading";
/// To which of several collections in one store a segment belongs.
pub const COLLECTION: &str = "collection";
/// The digest of all that the segments of a source were made from.
pub const DIGEST: &str = "digest";
/// How many segments the source has.
pub const SEGMENTS: &str = "segments";

/// What a document does not say of itself.
pub const RESERVED: [&str; 8] =
    [SOURCE, FILE_NAME, PAGE, INDEX, HEADING, COLLECTION, DIGEST, SEGMENTS];
