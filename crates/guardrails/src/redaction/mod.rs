//! Taking what is sensitive out of texts.

mod account;
mod address;
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
use placeholder::Writer;
use scan::Found;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Puts placeholders in place of what is sensitive: addresses, numbers of accounts, keys.
///
/// As an input guardrail it rewrites what the user said before the model sees it and before it is
/// remembered; of a message of several parts, each text for itself, and other contents stay. As an
/// output guardrail it rewrites the answer. [`redact`](Self::redact) is the same for any text,
/// [`redact_segment`](Self::redact_segment) for what was retrieved. As a
/// [`QueryTransformer`](ai_services_core::rag::QueryTransformer) it keeps what is sensitive from search engines and
/// embedding models. [`streaming`](Self::streaming) makes a chunk guardrail of it, with which streams flow.
///
/// # What is found
///
/// The [kinds](SensitiveKind), all of them unless told otherwise, and what
/// [`words`](Self::words) and [`custom`](Self::custom) add. Patterns find forms, not meanings: names,
/// postal addresses and dates of birth pass, and so does everything that is spelt unusually. Use it to
/// lower the amount of personal data that a model sees, not to prove that it sees none.
///
/// What overlaps is replaced as one, so that no part of it is left, by the placeholder of the longest;
/// among equally long ones, that of the kind that is listed first, and of yours after these.
/// Placeholders are never redacted, so redacting twice is redacting once. The time is linear in the
/// length of the text.
///
/// The user's [name](UserMessage::name), attributes and metadata are not looked at. An answer with a type is
/// read from what is left, and may not be of its type any more, for example if a number was taken out.
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

/// What finds things, and how these are called.
#[derive(Clone)]
struct Finder {
    label: Box<str>,
    /// None: the application's own.
    kind: Option<SensitiveKind>,
    find: Arc<Find>,
    reach: Reach,
}

/// What something that is found does not go beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// A word in the signs of the patterns, a number in groups, or a private key.
    Pattern,
    /// As these, or a word in any script.
    Word,
    Line,
    Text,
}

type Find = dyn Fn(&str, &mut Vec<Range<usize>>) + Send + Sync;

impl Redaction {
    /// Redacts all kinds.
    #[must_use]
    pub fn all() -> Self {
        Self::only(SensitiveKind::ALL)
    }

    /// Redacts these kinds only.
    #[must_use]
    pub fn only(kinds: impl IntoIterator<Item = SensitiveKind>) -> Self {
        let wanted: Vec<SensitiveKind> = kinds.into_iter().collect();
        let kinds = SensitiveKind::ALL.into_iter().filter(|kind| wanted.contains(kind));
        let finders = kinds.map(|kind| Finder {
            label: kind.placeholder().into(),
            kind: Some(kind),
            find: Arc::new(kind.finder()),
            reach: Reach::Pattern,
        });
        Self { finders: finders.collect(), placeholders: Placeholders::default() }
    }

    /// Redacts this kind no longer.
    #[must_use]
    pub fn without(mut self, kind: SensitiveKind) -> Self {
        self.finders.retain(|finder| finder.kind != Some(kind));
        self
    }

    /// Redacts these words as well, wherever they stand for themselves, in this case only.
    ///
    /// Each word is looked for on its own; for thousands of them, give a function to
    /// [`custom`](Self::custom).
    ///
    /// # Errors
    ///
    /// As [`custom`](Self::custom).
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
        let words: Vec<Box<str>> = words.into_iter().map(Into::into).collect();
        let has = |is: fn(char) -> bool| words.iter().any(|word| word.contains(is));
        let reach = match (has(|c| c == '\n'), has(char::is_whitespace)) {
            (true, _) => Reach::Text,
            (false, true) => Reach::Line,
            (false, false) => Reach::Word,
        };
        self.finder(label, reach, move |text, found| {
            words.iter().for_each(|word| occurrences(text, word, found));
        })
    }

    /// Redacts what a function finds as well: ranges of bytes of the text that it is given.
    ///
    /// The function may be given pieces of a text, in [streams](Self::streaming) lines of it. Ranges may
    /// overlap and come in any order; one that is beyond the text is cut, one that cuts a character
    /// takes it as a whole, an empty one is nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`](ai_services_core::ErrorKind::Configuration) unless the label, which stands
    /// between the brackets of the placeholder, consists of `A` to `Z` and underscores between them,
    /// and is no other's label.
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
        self.finder(label, Reach::Line, move |text, found| {
            found.extend(find(text).into_iter().map(|range| whole(text, &range)));
        })
    }

    fn finder(
        mut self,
        label: &str,
        reach: Reach,
        find: impl Fn(&str, &mut Vec<Range<usize>>) + Send + Sync + 'static,
    ) -> Result<Self> {
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_uppercase());
        if !label.split('_').all(is_word) {
            return Err(Error::configuration(format!(
                "the label `{label}` of a placeholder has to consist of `A` to `Z`, with single underscores between them"
            )));
        }
        let built_in = SensitiveKind::ALL.map(SensitiveKind::placeholder);
        if built_in.contains(&label) || self.finders.iter().any(|other| *other.label == *label) {
            return Err(Error::configuration(format!(
                "the label `{label}` of a placeholder is taken; choose another"
            )));
        }
        let (label, find) = (label.into(), Arc::new(find));
        self.finders.push(Finder { label, kind: None, find, reach });
        Ok(self)
    }

    /// Sets what stands in place of what was found; by default `[EMAIL]` and the like.
    #[must_use]
    pub fn placeholders(mut self, placeholders: Placeholders) -> Self {
        self.placeholders = placeholders;
        self
    }

    /// The text with placeholders. It is borrowed if there is nothing to redact.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.text(text, &mut Writer::new(self, [text]))
    }

    /// The same for a text that comes in pieces: a
    /// [chunk guardrail](ai_services_core::guardrail::ChunkGuardrail), for one answer.
    #[must_use]
    pub fn streaming(&self) -> StreamingRedaction {
        StreamingRedaction::new(self.clone())
    }

    /// The message with placeholders in its texts, numbered together. It is borrowed if there is nothing
    /// to redact.
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

    /// The segment with placeholders in its text and with the same metadata. It is borrowed if there is
    /// nothing to redact.
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
        let found = scan::everything(text, parts, |piece, all| {
            for (finder, Finder { find, .. }) in self.finders.iter().enumerate() {
                find(piece, &mut ranges);
                all.extend(ranges.drain(..).map(|range| Found { range, finder }));
            }
        });
        if found.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(writer.write(text, &found)) }
    }
}

/// Adds where a word stands for itself.
fn occurrences(text: &str, word: &str, found: &mut Vec<Range<usize>>) {
    if word.trim().is_empty() {
        return;
    }
    for (start, word) in text.match_indices(word) {
        let end = start + word.len();
        let before = text.get(..start).and_then(|before| before.chars().next_back());
        let after = text.get(end..).and_then(|after| after.chars().next());
        let goes_on = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        if !goes_on(before) && !goes_on(after) {
            found.push(start..end);
        }
    }
}

/// The range within the text, with whole characters.
fn whole(text: &str, range: &Range<usize>) -> Range<usize> {
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
