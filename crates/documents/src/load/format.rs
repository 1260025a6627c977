//! What kind of file it is.

/// The kinds of files that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Markdown,
    Html,
    Pdf,
}

/// Endings of names that are loaded from folders unless others are asked for.
pub(super) const EXTENSIONS: [&str; 13] = [
    "txt", "text", "md", "markdown", "mdx", "rst", "adoc", "org", "tex", "html", "htm", "xhtml",
    "pdf",
];

/// How far the mark of a PDF may be from the beginning, in bytes, as readers of PDF allow.
const PDF_HEAD: usize = 1024;

impl Format {
    /// By the ending of the name and by how the file begins.
    pub(super) fn of(name: &str, bytes: &[u8]) -> Self {
        let head = bytes.get(..PDF_HEAD).unwrap_or(bytes);
        let begins_as_pdf = head.windows(5).any(|window| window == b"%PDF-");
        match extension(name).as_deref() {
            Some("pdf") => Self::Pdf,
            Some("md" | "markdown" | "mdx") => Self::Markdown,
            Some("html" | "htm" | "xhtml") => Self::Html,
            Some(known) if EXTENSIONS.contains(&known) => Self::Text,
            _ if begins_as_pdf => Self::Pdf,
            _ if begins_as_html(head) => Self::Html,
            _ => Self::Text,
        }
    }

    /// The feature of this crate that reads it.
    pub(super) fn feature(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Pdf => "pdf",
            Self::Text | Self::Markdown => "text",
        }
    }
}

/// What is behind the last full stop of a name, in small letters.
pub(super) fn extension(name: &str) -> Option<String> {
    let file = name.rsplit('/').next()?;
    let (stem, extension) = file.rsplit_once('.')?;
    (!stem.is_empty()).then(|| extension.to_ascii_lowercase())
}

fn begins_as_html(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    [b"<!doctype html".as_slice(), b"<html"]
        .iter()
        .any(|mark| head.get(..mark.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(mark)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_beginning_tell_the_format() {
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
