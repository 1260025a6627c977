//! Detection of the file format.

/// The supported file formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Markdown,
    Html,
    Pdf,
}

/// File extensions that are loaded from folders by default.
pub(super) const EXTENSIONS: [&str; 13] = [
    "txt", "text", "md", "markdown", "mdx", "rst", "adoc", "org", "tex", "html", "htm", "xhtml",
    "pdf",
];

/// Number of leading bytes that may contain the PDF signature, as PDF readers allow.
const PDF_HEAD: usize = 1024;

impl Format {
    /// Detects the format by the file extension, then by the first bytes.
    pub(super) fn of(name: &str, bytes: &[u8]) -> Self {
        let head = bytes.get(..PDF_HEAD).unwrap_or(bytes);
        let is_pdf = head.windows(5).any(|window| window == b"%PDF-");
        match extension(name).as_deref() {
            Some("pdf") => Self::Pdf,
            Some("md" | "markdown" | "mdx") => Self::Markdown,
            Some("html" | "htm" | "xhtml") => Self::Html,
            Some(known) if EXTENSIONS.contains(&known) => Self::Text,
            _ if is_pdf => Self::Pdf,
            _ if starts_as_html(head) => Self::Html,
            _ => Self::Text,
        }
    }

    /// Returns the feature of this crate that reads the format.
    pub(super) fn feature(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Pdf => "pdf",
            Self::Text | Self::Markdown => "text",
        }
    }
}

/// Returns the file extension of a name in lower case.
pub(super) fn extension(name: &str) -> Option<String> {
    let file = name.rsplit('/').next()?;
    let (stem, extension) = file.rsplit_once('.')?;
    (!stem.is_empty()).then(|| extension.to_ascii_lowercase())
}

fn starts_as_html(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    [b"<!doctype html".as_slice(), b"<html"]
        .iter()
        .any(|mark| head.get(..mark.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(mark)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_and_first_bytes_select_the_format() {
        let cases: [(&str, &[u8], Format); 11] = [
            ("a/b.MD", b"# x", Format::Markdown),
            ("a.md", b"<html>", Format::Markdown),
            ("a.txt", b"%PDF-1.7", Format::Text),
            ("a.pdf", b"x", Format::Pdf),
            ("a", b"%PDF-1.7", Format::Pdf),
            ("a.dat", b"\n%PDF-1.7", Format::Pdf),
            ("page", b"\xEF\xBB\xBF <!DOCTYPE HTML>", Format::Html),
            ("page.php", b"<HTML lang=en>", Format::Html),
            ("a.rs", b"fn main() {}", Format::Text),
            (".md", b"x", Format::Text),
            ("x.md/README", b"", Format::Text),
        ];
        for (name, bytes, format) in cases {
            assert_eq!(Format::of(name, bytes), format, "{name}");
        }
    }
}
