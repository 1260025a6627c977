//! Text extraction from HTML.

use super::LoadError;
use ai_services_core::document::{Metadata, key};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use std::cell::RefCell;

/// Maximum length of a title in bytes.
const MAX_TITLE: usize = 1024;

/// Number of bytes between two checks of the deadline.
const CHECK_INTERVAL: usize = 16 * 1024;

/// Returns the visible text, and the metadata with the title.
///
/// No tree is built, so deep nesting costs nothing. The tokenizer compares each attribute of an element with
/// all attributes before it, so a few megabytes of attributes would take hours; `check` stops that.
pub(super) fn read(
    html: &str,
    mut metadata: Metadata,
    check: impl Fn() -> Result<(), LoadError>,
) -> Result<(String, Metadata), LoadError> {
    let input = BufferQueue::default();
    let tokenizer = Tokenizer::new(Sink::default(), TokenizerOpts::default());
    for part in parts(html) {
        check()?;
        input.push_back(StrTendril::from(part));
        // The sink never stops at a script.
        let _ = tokenizer.feed(&input);
    }
    tokenizer.end();
    let page = tokenizer.sink.0.into_inner();
    let title = [page.title, page.first_heading].into_iter().map(Text::finish);
    if let Some(title) =
        title.into_iter().find(|title| !title.is_empty() && title.len() <= MAX_TITLE)
    {
        metadata.set(key::TITLE, title);
    }
    Ok((page.text.finish(), metadata))
}

/// Splits the text into parts of about [`CHECK_INTERVAL`] bytes.
fn parts(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let end = (CHECK_INTERVAL..text.len()).find(|end| text.is_char_boundary(*end));
        let (part, rest) = text.split_at(end.unwrap_or(text.len()));
        text = rest;
        Some(part).filter(|part| !part.is_empty())
    })
}

#[derive(Default)]
struct Sink(RefCell<Page>);

/// The state of the extraction.
#[derive(Default)]
struct Page {
    text: Text,
    title: Text,
    first_heading: Text,
    place: Place,
    /// The hidden element and its nesting depth within itself.
    hidden: Option<(Box<str>, usize)>,
    /// Number of open `pre` elements.
    preformatted: usize,
    has_title: bool,
    has_heading: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Body,
    Title,
    /// The first heading of the first level.
    Heading,
    /// A script or other text that is not shown.
    Raw,
}

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut page = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => return page.open(&tag),
            Token::TagToken(tag) => page.close(&tag.name),
            Token::CharacterTokens(text) => page.push_text(&text),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl Page {
    fn open(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name = &*tag.name;
        if let Some((hidden, depth)) = &mut self.hidden {
            if **hidden == *name && !tag.self_closing {
                *depth += 1;
            }
        } else if matches!(name, "svg" | "math" | "template") && !tag.self_closing {
            self.hidden = Some((name.into(), 1));
        }
        match name {
            "script" => {
                self.place = Place::Raw;
                return TokenSinkResult::RawData(RawKind::ScriptData);
            }
            "style" | "noscript" | "iframe" | "noembed" | "noframes" => {
                self.place = Place::Raw;
                return TokenSinkResult::RawData(RawKind::Rawtext);
            }
            "textarea" => return TokenSinkResult::RawData(RawKind::Rcdata),
            "title" if self.hidden.is_none() => {
                self.place = if self.has_title { Place::Raw } else { Place::Title };
                self.has_title = true;
                return TokenSinkResult::RawData(RawKind::Rcdata);
            }
            "h1" if !self.has_heading && self.hidden.is_none() => {
                (self.has_heading, self.place) = (true, Place::Heading);
            }
            "pre" => self.preformatted += 1,
            _ => {}
        }
        self.break_before(name);
        if name == "li" {
            self.text.bullet = true;
        }
        TokenSinkResult::Continue
    }

    fn close(&mut self, name: &str) {
        if let Some((hidden, depth)) = &mut self.hidden
            && **hidden == *name
        {
            *depth -= 1;
            if *depth == 0 {
                self.hidden = None;
            }
        }
        match name {
            "title" | "script" | "style" | "noscript" | "iframe" | "noembed" | "noframes"
            | "h1" => {
                self.place = Place::Body;
            }
            "pre" => self.preformatted = self.preformatted.saturating_sub(1),
            _ => {}
        }
        self.break_before(name);
    }

    /// Starts a new line or paragraph if the element does.
    fn break_before(&mut self, name: &str) {
        match name {
            "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "ul" | "ol" | "dl" | "table"
            | "pre" | "blockquote" | "section" | "article" | "header" | "footer" | "main"
            | "nav" | "aside" | "figure" | "form" | "fieldset" | "hr" | "details" | "body" => {
                self.text.add_break(2);
            }
            "br" | "div" | "li" | "dt" | "dd" | "tr" | "caption" | "figcaption" | "option"
            | "summary" | "address" => self.text.add_break(1),
            "td" | "th" => self.text.space = true,
            _ => {}
        }
    }

    fn push_text(&mut self, text: &str) {
        if self.hidden.is_some() || self.place == Place::Raw {
            return;
        }
        match self.place {
            Place::Title => return self.title.push(text, false),
            Place::Heading => self.first_heading.push(text, false),
            _ => {}
        }
        self.text.push(text, self.preformatted > 0);
    }
}

/// A text with collapsed white space.
#[derive(Default)]
struct Text {
    written: String,
    /// Number of line breaks before the next character.
    breaks: usize,
    /// `true` if a space precedes the next character; a line break takes precedence.
    space: bool,
    /// `true` if a list bullet precedes the next character.
    bullet: bool,
}

impl Text {
    fn add_break(&mut self, breaks: usize) {
        self.breaks = self.breaks.max(breaks);
    }

    fn push(&mut self, text: &str, keeps_space: bool) {
        for c in text.chars() {
            match c {
                '\n' if keeps_space => {
                    self.flush();
                    self.written.push('\n');
                }
                c if c.is_whitespace() && !keeps_space => self.space = true,
                c => {
                    self.flush();
                    self.written.push(c);
                }
            }
        }
    }

    fn flush(&mut self) {
        let is_first = self.written.is_empty();
        match self.breaks {
            0 if self.space && !is_first => self.written.push(' '),
            breaks if !is_first => self.written.extend(std::iter::repeat_n('\n', breaks)),
            _ => {}
        }
        if self.bullet {
            self.written.push_str("- ");
        }
        (self.breaks, self.space, self.bullet) = (0, false, false);
    }

    fn finish(self) -> String {
        let end = self.written.trim_end().len();
        let mut text = self.written;
        text.truncate(end);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(html: &str) -> (String, Metadata) {
        read(html, Metadata::new(), || Ok(())).unwrap()
    }

    fn text(html: &str) -> String {
        page(html).0
    }

    fn title(html: &str) -> Option<String> {
        page(html).1.get(key::TITLE).map(ToString::to_string)
    }

    #[test]
    fn text_is_extracted_without_scripts() {
        let html = "<!doctype html><html><head><title>A &amp; B</title><style>p {}</style>\
            <script>if (a < b) { '</p>' }</script></head><body><!-- note -->\
            <h1>Head\n line</h1><p>One <b>bo</b>ld&nbsp;&lt;x&gt;.<br>Two</p>\
            <ul><li>a<li>b</ul><svg><title>no</title><text>no</text></svg>\
            <table><tr><th>k</th><td>v</td></tr><tr><td>w</td></tr></table>\
            <pre>x\n  y</pre><noscript>no</noscript>end</body></html>";
        assert_eq!(
            text(html),
            "Head line\n\nOne bold <x>.\nTwo\n\n- a\n- b\n\nk v\nw\n\nx\n  y\n\nend"
        );
        assert_eq!(title(html).as_deref(), Some("A & B"));
    }

    #[test]
    fn first_heading_is_the_default_title() {
        assert_eq!(title("<h1>One <i>two</i></h1><h1>Other</h1>").as_deref(), Some("One two"));
        assert_eq!(title("<p>text"), None);
    }

    #[test]
    fn malformed_html_is_read_as_far_as_possible() {
        assert_eq!(text("a<p>b</div></b>c<"), "a\n\nb\nc<");
        assert_eq!(text("<script>never closed"), "");
        assert_eq!(text("a</i></title>b &unknown; &#x110000;"), "ab &unknown; \u{fffd}");
        assert_eq!(text("<svg><svg></svg>no</svg>yes"), "yes");
    }

    #[test]
    fn deep_nesting_is_accepted() {
        let html = format!("{}x{}", "<div><b>".repeat(20_000), "</b></div>".repeat(20_000));
        assert_eq!(text(&html), "x");
    }

    #[test]
    fn part_boundaries_do_not_change_the_text() {
        let unit = "<p class='a'>Größe &amp; \r\n<b>日本</b></p><script>a < b</script>";
        for shift in 0..unit.len() {
            let before = "x".repeat(CHECK_INTERVAL - shift);
            assert_eq!(text(&format!("{before}{unit}")), format!("{before}\n\nGröße & 日本"));
        }
    }

    #[test]
    fn many_attributes_stop_at_the_deadline() {
        use super::super::LoadErrorKind;
        let attributes: String = (0..200_000).map(|number| format!("a{number} ")).collect();
        let checks = std::cell::Cell::new(0);
        let check = || {
            checks.set(checks.get() + 1);
            let error = || LoadError::new("x", LoadErrorKind::Timeout, "took longer");
            if checks.get() > 3 { Err(error()) } else { Ok(()) }
        };
        let read = read(&format!("<p {attributes}>"), Metadata::new(), check);
        assert_eq!(read.unwrap_err().kind(), LoadErrorKind::Timeout);
        assert_eq!(checks.get(), 4);
    }
}
