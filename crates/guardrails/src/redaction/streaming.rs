//! Redaction of a text that arrives in pieces.

use super::fold::FoldedText;
use super::key::{self, PartialKey};
use super::phone::MAX_BETWEEN;
use super::placeholder::{Numbers, Writer};
use super::{MatchExtent, Redaction, SensitiveKind, scan};
use crate::steps;
use ai_services_core::guardrail::{ChunkGuardrail, ChunkVerdict};
use std::fmt;

/// Replaces sensitive data by placeholders in a text that arrives in pieces.
///
/// The result is the same as [`Redaction::redact`] of the whole text, however the text is split. A word is
/// withheld until it is complete, and so is text that may continue: after a digit some more words, because
/// groups of a number may follow; after the start of a private key everything up to its end. Scripts that are
/// written without blanks are withheld after `@` only, up to the next punctuation mark. If custom words
/// contain blanks, or if there are custom functions, text is withheld until the end of the line, or, for
/// words with line breaks, until the end of the text.
///
/// With [`Placeholders::Numbered`](super::Placeholders::Numbered), numbers continue across all pieces. A
/// placeholder in the original text may have a number that is already assigned.
///
/// Runs in linear time.
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::Redaction;
/// use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
/// use ai_services::{AnswerStream, ai_service};
///
/// #[ai_service]
/// trait Support {
///     fn chat(&self, message: &str) -> AnswerStream;
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let answer = ScriptedAnswer::pieces(["Ask ", "ann@", "example", ".org, or", " nobody."]);
/// let redaction = Redaction::all();
/// let support = SupportService::builder()
///     .chat_model(ScriptedChatModel::new([answer]))
///     .chunk_guardrail(move || redaction.streaming())
///     .build()?;
/// let mut text = support.chat("Who knows?").text();
/// let mut pieces = Vec::new();
/// while let Some(piece) = text.next().await {
///     pieces.push(piece?);
/// }
/// assert_eq!(pieces, ["Ask ", "[EMAIL], ", "or ", "nobody."]);
/// # Ok(())
/// # }
/// ```
pub struct StreamingRedaction {
    redaction: Redaction,
    /// The largest extent of all finders.
    extent: MatchExtent,
    numbers: Numbers,
    /// The withheld text.
    pending: String,
    /// The withheld text as the patterns read it. The following positions refer to it.
    folded: FoldedText,
    /// Length of the part that was scanned.
    scanned: usize,
    /// The position of the first `@`.
    at_sign: Option<usize>,
    /// The first private key in the withheld text whose end is unknown.
    key: Option<OpenKey>,
}

/// A private key whose end is unknown.
#[derive(Clone, Copy, Debug)]
struct OpenKey {
    start: usize,
    /// Length of the withheld text at which the end is searched again. It grows geometrically, so that a key
    /// without an end takes linear time.
    retry_length: usize,
}

/// Maximum number of letters and digits of a number: the length of the longest account number.
const MAX_NUMBER_LENGTH: usize = 34;

impl StreamingRedaction {
    pub(super) fn new(redaction: Redaction) -> Self {
        let extent = redaction.finders.iter().map(|finder| finder.extent);
        let extent = extent.max().unwrap_or(MatchExtent::Pattern);
        Self {
            redaction,
            extent,
            numbers: Numbers::default(),
            pending: String::new(),
            folded: FoldedText::default(),
            scanned: 0,
            at_sign: None,
            key: None,
        }
    }

    /// Adds a piece and returns the text that can be delivered.
    fn push(&mut self, piece: &str) -> String {
        self.withhold(piece);
        self.track_keys();
        let end = self.key.map_or(self.folded.text().len(), |key| key.start);
        let position = self.cut_position(end);
        self.scanned = end;
        position.map(|position| self.redact_until(position)).unwrap_or_default()
    }

    /// Adds a piece to the withheld text.
    fn withhold(&mut self, piece: &str) {
        let start = self.folded.text().len();
        self.pending.push_str(piece);
        self.folded.push_str(piece);
        if self.at_sign.is_none() {
            let new = self.folded.text().get(start..).unwrap_or_default();
            self.at_sign = new.find('@').map(|at| start + at);
        }
    }

    /// Searches for the start and end of private keys.
    fn track_keys(&mut self) {
        let mut kinds = self.redaction.finders.iter().filter_map(|finder| finder.kind);
        if !kinds.any(|kind| kind == SensitiveKind::PrivateKey) {
            return;
        }
        let text = self.folded.text();
        let mut from = match self.key {
            Some(key) if text.len() < key.retry_length => return,
            Some(key) => key.start,
            // The start may be split between two pieces.
            None => scan::boundary(text, self.scanned.saturating_sub(key::BEGIN.len())),
        };
        self.key = None;
        while let Some(PartialKey { start, end }) = key::find_private_key(text, from) {
            let Some(end) = end else {
                let length = text.len() - start;
                let retry_length = text.len() + 1 + length / 4;
                self.key = Some(OpenKey { start, retry_length });
                return;
            };
            (from, self.scanned) = (end.body, end.key);
        }
    }

    /// Returns the last position after the scanned text where no match can continue.
    fn cut_position(&self, end: usize) -> Option<usize> {
        let text = self.folded.text();
        let new = text.get(self.scanned..end)?;
        let positions =
            new.char_indices().rev().map(|(at, c)| (self.scanned + at + c.len_utf8(), c));
        let positions = positions.inspect(|_| steps::add(1));
        let mut positions = positions.filter(|(position, c)| match self.extent {
            // Of all patterns, only domains contain letters of scripts that are written without blanks.
            MatchExtent::Pattern if *c >= '\u{2E80}' => {
                !c.is_alphanumeric() || self.at_sign.is_none_or(|at| at >= *position)
            }
            MatchExtent::Pattern | MatchExtent::Word => {
                c.is_ascii_whitespace() && !may_continue(text.get(..*position).unwrap_or_default())
            }
            MatchExtent::Line => *c == '\n',
            MatchExtent::Text => false,
        });
        positions.next().map(|(position, _)| position)
    }

    /// Redacts the withheld text up to a position, and removes it in place: most pieces end a word.
    fn redact_until(&mut self, end: usize) -> String {
        let position = self.folded.original_position(end);
        let text = self.pending.get(..position).unwrap_or_default();
        let numbers = std::mem::take(&mut self.numbers);
        let mut writer = Writer::resume(&self.redaction, numbers, [text]);
        let redacted = self.redaction.text(text, &mut writer).into_owned();
        self.numbers = writer.into_numbers();
        self.pending.drain(..position);
        self.folded.remove_until(end);
        steps::add(self.pending.len());
        self.scanned = self.scanned.saturating_sub(end);
        self.at_sign = self.folded.text().find('@');
        if let Some(key) = &mut self.key {
            key.start = key.start.saturating_sub(end);
            key.retry_length = key.retry_length.saturating_sub(end);
        }
        redacted
    }
}

/// Returns `true` if a match may continue after a text that ends between two words: a number may have more
/// groups, or a word such as `Bearer` precedes a token.
fn may_continue(text: &str) -> bool {
    let (mut signs, mut between) = (0, 0);
    for c in text.chars().rev() {
        steps::add(1);
        match c {
            '0'..='9' => return true,
            'A'..='Z' | 'a'..='z' => (signs, between) = (signs + 1, 0),
            c if scan::may_separate(c) => between += 1,
            _ => break,
        }
        if signs > MAX_NUMBER_LENGTH || between > MAX_BETWEEN {
            break;
        }
    }
    key::precedes_token(text)
}

impl ChunkGuardrail for StreamingRedaction {
    fn check(&mut self, text: &str) -> ChunkVerdict {
        ChunkVerdict::Rewrite(self.push(text))
    }

    fn finish(&mut self) -> ChunkVerdict {
        self.key = None;
        ChunkVerdict::Rewrite(self.redact_until(self.folded.text().len()))
    }

    fn name(&self) -> &str {
        "redaction"
    }
}

impl fmt::Debug for StreamingRedaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { redaction, pending, .. } = self;
        f.debug_struct("StreamingRedaction")
            .field("redaction", redaction)
            .field("pending_bytes", &pending.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Placeholders;
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    /// Returns the output of a redaction for each piece, and at the end.
    fn pieces<'a>(redaction: &Redaction, pieces: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut streaming = redaction.streaming();
        let mut output: Vec<String> =
            pieces.into_iter().map(|piece| streaming.push(piece)).collect();
        let ChunkVerdict::Rewrite(rest) = streaming.finish() else { panic!("it rewrites") };
        output.push(rest);
        output
    }

    const PARTS: &[&str] = &[
        "ann@example.org",
        "ann@",
        "example.org",
        "+49",
        "(0)30",
        "/",
        "030",
        "1234567",
        "0171-",
        "202",
        "555",
        "0123",
        "DE89",
        "DE89 3704 0044 0532 0130 00",
        "GB82 WEST 1234 5698 7654 32",
        "MT84 MALT 0110 0001 2345 MTLC AST0 01S",
        "GB82",
        "WEST",
        "1234 5698 7654 32",
        "NWBK",
        "4111 1111 1111 1111",
        "4111",
        "1111",
        "192.0.2.7",
        "2001:db8::1",
        "eyJhbGciOiJIUzI1NiJ9",
        ".eyJzdWIiOiIxMjM0NTY3ODkwIn0",
        ".dozjgNryP4J3jVmNHl0w5N",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN ",
        "-----BEGIN PUBLIC KEY-----",
        "RSA PRIVATE KEY-----",
        "MIIE",
        "\nMIIE\n",
        "-----END PRIVATE KEY-----",
        "-----END ",
        "-----",
        "Bearer ",
        "bearer",
        "abc.def-123/456+789==",
        "sk-0123456789abcdef",
        "sk-",
        "Red",
        "Fox",
        "Blue",
        "a word",
        "several words and more of them here",
        "2026",
        "é",
        "我们",
        "。",
        "\"",
        "'",
        "[EMAIL]",
        "[",
        "]",
        "_",
        " ",
        "  ",
        " ",
        " ",
        "\n",
        "\t",
        "\u{a0}",
        "\u{2013}",
        "\u{200b}",
        "\u{ad}",
        "\u{301}",
        "＠",
        "．",
        "４１１１ １１１１",
        "１",
        "ann@例子.",
        "中国",
        "谢谢",
        "，",
        "：",
        "02110-1301",
        "hf_QwErTyUiOpAsDf",
        "GhJkLzXcVbNmQwErTyUi",
        "-",
        ".",
        ". ",
        ", ",
        ",",
        "(",
        ")",
        ":",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn output_does_not_depend_on_the_pieces(
            parts in vec(select(PARTS), 0..30),
            sizes in vec(1_usize..12, 1..20),
            own in 0..3_u8,
        ) {
            let text = parts.concat();
            let words = |words: &[&'static str]| Redaction::all().words("OWN", words.to_vec()).unwrap();
            let redaction = match own {
                0 => Redaction::all(),
                1 => words(&["Blue", "Red"]),
                _ => words(&["Blue", "Red Fox"]),
            };
            let (mut cut, mut rest) = (Vec::new(), text.as_str());
            for size in sizes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let end = rest.char_indices().nth(*size).map_or(rest.len(), |(end, _)| end);
                let (piece, others) = rest.split_at(end);
                cut.push(piece);
                rest = others;
            }
            prop_assert_eq!(pieces(&redaction, cut).concat(), redaction.redact(&text));
        }
    }

    #[test]
    fn key_in_the_last_line_of_a_key_is_withheld() {
        let text = "-----BEGIN PRIVATE KEY----------END 1234 5698 7654 32é4111 1111 1111 1111[EMAIL]\nMIIE\n\
            é0171-202sk------BEGIN PRIVATE KEY-----ann@example.organn@example.organn@example.org";
        let redaction = Redaction::all();
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let output = pieces(&redaction, letters.iter().map(String::as_str)).concat();
        assert_eq!(output, redaction.redact(text));
        assert!(output.ends_with("sk-[PRIVATE_KEY]@[EMAIL]"), "{output}");
    }

    #[test]
    fn words_are_delivered_when_they_are_complete() {
        let output = pieces(&Redaction::all(), ["No", "body ", "kno", "ws, I am\nso", "rry."]);
        assert_eq!(output, ["", "Nobody ", "", "knows, I am\n", "", "sorry."]);
        let output = pieces(&Redaction::all(), ["我们", "a@b", ".de", "。是", "a"]);
        assert_eq!(output, ["我们", "", "", "[EMAIL]。", "", "是a"]);
    }

    #[test]
    fn digits_are_withheld_while_others_may_follow() {
        let output = pieces(&Redaction::all(), ["Call 030 ", "1234567, ", "or ", "wait."]);
        assert_eq!(output, ["Call ", "[PHONE], ", "or ", "", "wait."]);
        // An account number has at most 34 letters and digits.
        for (word, output) in
            [("fourfold", ""), ("foursomes", "2026 and thirty letters or then come foursomes ")]
        {
            let text = format!("In 2026 and thirty letters or then come {word} ");
            assert_eq!(pieces(&Redaction::all(), ["In ", &text[3..], "x"])[1], output);
        }
    }

    #[test]
    fn private_key_is_withheld_until_its_end() {
        let key = "-----BEGIN PRIVATE KEY-----\nMIIE\nMIIE\n-----END PRIVATE KEY-----\n";
        let text = format!("Here: {key}{}", "Keep it well. ".repeat(20));
        let cut: Vec<&str> = text.split_inclusive(' ').collect();
        let output = pieces(&Redaction::all(), cut);
        assert_eq!(output.concat(), Redaction::all().redact(&text));
        assert_eq!(output[0], "Here: ");
        // The end of the key is found before the end of the text.
        let position = output.iter().position(|output| output.contains("[PRIVATE_KEY]")).unwrap();
        assert!(position < output.len() - 10, "{position} of {}", output.len());
        let others = Redaction::all().without(SensitiveKind::PrivateKey);
        assert_eq!(
            pieces(&others, ["-----BEGIN PRIVATE KEY-----\n", "x"])[0],
            "-----BEGIN PRIVATE KEY-----\n"
        );
    }

    #[test]
    fn words_with_blanks_are_withheld_until_the_line_ends() {
        let redaction = Redaction::all().words("NAME", ["Red Fox"]).unwrap();
        let output = pieces(&redaction, ["A Red ", "Fox ", "is a\nRed ", "Fox"]);
        assert_eq!(output, ["", "", "A [NAME] is a\n", "", "[NAME]"]);
        let redaction = Redaction::all().words("NAME", ["Red\nFox"]).unwrap();
        assert_eq!(pieces(&redaction, ["A Red\n", "Fox"]), ["", "", "A [NAME]"]);
    }

    #[test]
    fn numbers_continue_across_pieces() {
        let redaction = Redaction::all().placeholders(Placeholders::Numbered);
        let output = pieces(&redaction, ["a@b.de ", "c@d.de ", "a@b.de [EMAIL_7] ", "e@f.de"]);
        assert_eq!(output, ["[EMAIL_1] ", "[EMAIL_2] ", "[EMAIL_1] [EMAIL_7] ", "", "[EMAIL_8]"]);
    }

    /// Most characters are withheld or scanned again.
    #[test]
    fn hostile_texts_take_linear_time() {
        const KEY: &str = "-----BEGIN PRIVATE KEY-----\n";
        for (first, part) in [
            ("", "1 "),
            ("", "1"),
            ("", "- "),
            ("", "a "),
            ("", "-----BEGIN "),
            ("", "1\u{200b} "),
            ("", "\u{200b}"),
            ("a", "\u{ad}"),
            ("", "@例子"),
            ("", "例@"),
            ("", "４１１１ "),
            ("", KEY),
            (KEY, "MIIE"),
            (KEY, "MIIE\n"),
            (KEY, "----"),
            (KEY, "-----END "),
        ] {
            steps::assert_linear(part, 100_000, |size| {
                let text = format!("{first}{}", part.repeat(size / part.len()));
                let bounds = (0..=text.len()).filter(|at| text.is_char_boundary(*at));
                let bounds: Vec<usize> = bounds.step_by(4).chain([text.len()]).collect();
                let cut = bounds.windows(2).map(|pair| &text[pair[0]..pair[1]]);
                let output = pieces(&Redaction::all(), cut).concat();
                assert_eq!(output, Redaction::all().redact(&text), "{part}");
            });
        }
    }

    #[test]
    fn debug_output_contains_no_withheld_text() {
        let mut streaming = Redaction::all().streaming();
        streaming.push("ann@example.org");
        assert!(!format!("{streaming:?}").contains("ann"), "{streaming:?}");
    }
}
