//! Redaction of sensitive data.

mod account;
mod address;
mod fold;
mod key;
mod kind;
mod network;
mod phone;
mod placeholder;
mod scan;
mod streaming;

#[cfg(test)]
mod tests;

pub use kind::SensitiveKind;
pub use placeholder::Placeholders;
pub use streaming::StreamingRedaction;

use ai_services_core::document::TextSegment;
use ai_services_core::guardrail::{
    InputGuardrail, InputGuardrailRequest, InputVerdict, OutputGuardrail, OutputGuardrailRequest,
    OutputVerdict,
};
use ai_services_core::message::{Content, UserMessage};
use ai_services_core::{Error, Result};
use async_trait::async_trait;
use fold::{FoldedText, folded};
use placeholder::Writer;
use scan::Finding;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Replaces sensitive data by placeholders: addresses, account numbers, keys.
///
/// As an input guardrail it rewrites the user message before it is sent to the model and stored. Each text of
/// a message is rewritten separately; other contents are kept. As an output guardrail it rewrites the answer.
/// [`redact`](Self::redact) rewrites any text, and [`redact_segment`](Self::redact_segment) a retrieved text.
/// As a [`QueryTransformer`](ai_services_core::rag::QueryTransformer) it keeps sensitive data from search
/// engines and embedding models. [`streaming`](Self::streaming) returns a chunk guardrail, which does not
/// block streams.
///
/// # Recognized data
///
/// All [kinds](SensitiveKind) by default, and the data added with [`words`](Self::words) and
/// [`custom`](Self::custom). Patterns recognize formats, not meanings: names, postal addresses, dates of
/// birth and unusual notations are not recognized. Use the redaction to reduce the amount of personal data
/// that a model receives, not to guarantee that it receives none.
///
/// Overlapping matches are replaced together, so that no part remains. The longest match determines the
/// placeholder. Among matches of equal length, the kind that is declared first wins, then custom ones.
/// Placeholders are never redacted, so a second redaction changes nothing. Runs in linear time.
///
/// The user's [name](UserMessage::name), attributes and metadata are not checked. A typed answer is parsed
/// after the redaction, which can make it invalid, for example if a number was removed.
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::Redaction;
/// use ai_services::testing::guardrails::check_input;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let redaction = Redaction::all();
/// assert_eq!(
///     redaction.redact("I am ann@example.org, card 4111 1111 1111 1111."),
///     "I am [EMAIL], card [CARD]."
/// );
/// let message = check_input(&redaction, "My IBAN is DE89 3704 0044 0532 0130 00").await;
/// message.check_rewritten_to("My IBAN is [IBAN]")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Redaction {
    finders: Vec<Finder>,
    placeholders: Placeholders,
}

/// A function that finds data of one kind, and the label of its placeholder.
#[derive(Clone)]
struct Finder {
    label: Box<str>,
    /// The built-in kind. `None` for custom ones.
    kind: Option<SensitiveKind>,
    find: Arc<FindFn>,
    reads: FinderInput,
    extent: MatchExtent,
}

/// The form of the text that a finder reads.
#[derive(Clone, Copy, PartialEq)]
enum FinderInput {
    Folded,
    Original,
}

/// The maximum extent of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MatchExtent {
    /// A word in the alphabet of the built-in patterns, a number in groups, or a private key.
    Pattern,
    /// As [`Pattern`](Self::Pattern), or a word in any script.
    Word,
    /// One line.
    Line,
    /// The whole text.
    Text,
}

type FindFn = dyn Fn(&str, &mut Vec<Range<usize>>) + Send + Sync;

impl Redaction {
    /// Creates a redaction of all kinds.
    #[must_use]
    pub fn all() -> Self {
        Self::only(SensitiveKind::ALL)
    }

    /// Creates a redaction of these kinds only.
    #[must_use]
    pub fn only(kinds: impl IntoIterator<Item = SensitiveKind>) -> Self {
        let enabled: Vec<SensitiveKind> = kinds.into_iter().collect();
        let kinds = SensitiveKind::ALL.into_iter().filter(|kind| enabled.contains(kind));
        let finders = kinds.map(|kind| Finder {
            label: kind.placeholder().into(),
            kind: Some(kind),
            find: Arc::new(kind.finder()),
            reads: FinderInput::Folded,
            extent: MatchExtent::Pattern,
        });
        Self { finders: finders.collect(), placeholders: Placeholders::default() }
    }

    /// Disables a kind.
    #[must_use]
    pub fn without(mut self, kind: SensitiveKind) -> Self {
        self.finders.retain(|finder| finder.kind != Some(kind));
        self
    }

    /// Adds words. They are matched as whole words and case-sensitively. As in the built-in patterns, wide
    /// characters are compared like ASCII characters, and invisible characters are ignored.
    ///
    /// Each word is searched separately. For thousands of words, pass a function to [`custom`](Self::custom).
    ///
    /// # Errors
    ///
    /// See [`custom`](Self::custom).
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::guardrail::Redaction;
    ///
    /// let redaction = Redaction::all().words("PROJECT", ["Bluebird", "Red Fox"])?;
    /// assert_eq!(redaction.redact("Red Foxes like Red Fox."), "Red Foxes like [PROJECT].");
    /// # Ok::<(), ai_services::Error>(())
    /// ```
    pub fn words<W: Into<Box<str>>>(
        self,
        label: &str,
        words: impl IntoIterator<Item = W>,
    ) -> Result<Self> {
        let words: Vec<Box<str>> =
            words.into_iter().map(|word| folded(&word.into()).into()).collect();
        let has = |is: fn(char) -> bool| words.iter().any(|word| word.contains(is));
        let extent = match (has(|c| c == '\n'), has(char::is_whitespace)) {
            (true, _) => MatchExtent::Text,
            (false, true) => MatchExtent::Line,
            (false, false) => MatchExtent::Word,
        };
        self.finder(label, FinderInput::Folded, extent, move |text, found| {
            words.iter().for_each(|word| occurrences(text, word, found));
        })
    }

    /// Adds a function that returns the byte ranges to redact.
    ///
    /// The function can be called with pieces of a text, and in [streams](Self::streaming) with lines. Ranges
    /// may overlap and be in any order. A range beyond the end of the text is truncated, a range within a
    /// character is extended to the whole character, and an empty range is ignored.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) if the label, which is the
    /// text between the brackets of the placeholder, does not consist of `A` to `Z` with single underscores
    /// between them, or is not unique.
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::guardrail::Redaction;
    ///
    /// let redaction = Redaction::all().custom("BOOKING", |text| {
    ///     let numbers = text.match_indices("BK-").map(|(at, _)| at..at + 9);
    ///     numbers.collect()
    /// })?;
    /// assert_eq!(redaction.redact("It is BK-123456."), "It is [BOOKING].");
    /// # Ok::<(), ai_services::Error>(())
    /// ```
    pub fn custom(
        self,
        label: &str,
        find: impl Fn(&str) -> Vec<Range<usize>> + Send + Sync + 'static,
    ) -> Result<Self> {
        self.finder(label, FinderInput::Original, MatchExtent::Line, move |text, found| {
            found.extend(find(text).into_iter().map(|range| valid_range(text, &range)));
        })
    }

    fn finder(
        mut self,
        label: &str,
        reads: FinderInput,
        extent: MatchExtent,
        find: impl Fn(&str, &mut Vec<Range<usize>>) + Send + Sync + 'static,
    ) -> Result<Self> {
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_uppercase());
        if !label.split('_').all(is_word) {
            return Err(Error::configuration(format!(
                "invalid placeholder label `{label}`; use `A` to `Z`, with single underscores between them"
            )));
        }
        let built_in = SensitiveKind::ALL.map(SensitiveKind::placeholder);
        if built_in.contains(&label) || self.finders.iter().any(|other| *other.label == *label) {
            return Err(Error::configuration(format!(
                "placeholder label `{label}` is already taken; choose another"
            )));
        }
        let (label, find) = (label.into(), Arc::new(find));
        self.finders.push(Finder { label, kind: None, find, reads, extent });
        Ok(self)
    }

    /// Sets the style of placeholders. Default: [`Placeholders::Plain`].
    #[must_use]
    pub fn placeholders(mut self, placeholders: Placeholders) -> Self {
        self.placeholders = placeholders;
        self
    }

    /// Redacts a text. Returns the borrowed text if it contains no sensitive data.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.text(text, &mut Writer::new(self, [text]))
    }

    /// Returns a [chunk guardrail](ai_services_core::guardrail::ChunkGuardrail) for one answer, which redacts
    /// a text that arrives in pieces.
    #[must_use]
    pub fn streaming(&self) -> StreamingRedaction {
        StreamingRedaction::new(self.clone())
    }

    /// Redacts the texts of a message. Placeholders are numbered across all texts. Returns the borrowed
    /// message if it contains no sensitive data.
    #[must_use]
    pub fn redact_message<'a>(&self, message: &'a UserMessage) -> Cow<'a, UserMessage> {
        let texts = message.contents().iter().filter_map(Content::text);
        let mut writer = Writer::new(self, texts);
        let mut is_changed = false;
        let contents = message.contents().iter().map(|content| match content.text() {
            Some(text) => match self.text(text, &mut writer) {
                Cow::Borrowed(_) => content.clone(),
                Cow::Owned(text) => {
                    is_changed = true;
                    Content::from(text)
                }
            },
            None => content.clone(),
        });
        let contents: Vec<Content> = contents.collect();
        if !is_changed {
            return Cow::Borrowed(message);
        }
        let mut redacted = UserMessage::from_contents(contents);
        if let Some(name) = message.name() {
            redacted = redacted.with_name(name);
        }
        if let Some(attributes) = message.attributes() {
            redacted = redacted.with_attributes(attributes.clone());
        }
        Cow::Owned(redacted)
    }

    /// Redacts the text of a segment and keeps its metadata. Returns the borrowed segment if it contains no
    /// sensitive data.
    #[must_use]
    pub fn redact_segment<'a>(&self, segment: &'a TextSegment) -> Cow<'a, TextSegment> {
        match self.redact(segment.text()) {
            Cow::Borrowed(_) => Cow::Borrowed(segment),
            Cow::Owned(text) => {
                Cow::Owned(TextSegment::new(text).with_metadata(segment.metadata().clone()))
            }
        }
    }

    fn text<'a>(&self, text: &'a str, writer: &mut Writer<'_>) -> Cow<'a, str> {
        let mut ranges = Vec::new();
        let parts = writer.between_placeholders(text);
        let found = scan::find_all(text, parts, |piece, all| {
            let folded = FoldedText::of(piece);
            for (finder, Finder { find, reads, .. }) in self.finders.iter().enumerate() {
                let folded = folded.as_ref().filter(|_| *reads == FinderInput::Folded);
                find(folded.map_or(piece, FoldedText::text), &mut ranges);
                all.extend(ranges.drain(..).map(|range| {
                    let range = folded.map_or(range.clone(), |text| text.original_range(&range));
                    Finding { range, finder }
                }));
            }
        });
        if found.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(writer.write(text, &found)) }
    }
}

/// Adds all occurrences of a word as a whole word.
fn occurrences(text: &str, word: &str, found: &mut Vec<Range<usize>>) {
    if word.trim().is_empty() {
        return;
    }
    for (start, word) in text.match_indices(word) {
        let end = start + word.len();
        let before = text.get(..start).and_then(|before| before.chars().next_back());
        let after = text.get(end..).and_then(|after| after.chars().next());
        let is_in_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        if !is_in_word(before) && !is_in_word(after) {
            found.push(start..end);
        }
    }
}

/// Limits a range to the text and extends it to whole characters.
fn valid_range(text: &str, range: &Range<usize>) -> Range<usize> {
    let start = scan::boundary(text, range.start);
    let end = (range.end.min(text.len())..=text.len()).find(|at| text.is_char_boundary(*at));
    match end {
        Some(end) if range.start < range.end => start..end,
        _ => 0..0,
    }
}

#[async_trait]
impl InputGuardrail for Redaction {
    async fn check(&self, request: InputGuardrailRequest<'_>) -> Result<InputVerdict> {
        Ok(match self.redact_message(request.user_message) {
            Cow::Borrowed(_) => InputVerdict::Success,
            Cow::Owned(message) => InputVerdict::Rewrite(message),
        })
    }

    fn name(&self) -> &str {
        "redaction"
    }
}

#[async_trait]
impl OutputGuardrail for Redaction {
    async fn check(&self, request: OutputGuardrailRequest<'_>) -> Result<OutputVerdict> {
        Ok(match self.redact(request.text()) {
            Cow::Borrowed(_) => OutputVerdict::Success,
            Cow::Owned(text) => OutputVerdict::Rewrite(text.into()),
        })
    }

    fn name(&self) -> &str {
        "redaction"
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels: Vec<&str> = self.finders.iter().map(|finder| &*finder.label).collect();
        f.debug_struct("Redaction")
            .field("labels", &labels)
            .field("placeholders", &self.placeholders)
            .finish()
    }
}
