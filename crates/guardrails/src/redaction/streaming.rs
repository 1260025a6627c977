//! Redaction of a text while it comes.

use super::key::{self, Begun};
use super::phone::MAX_BETWEEN;
use super::placeholder::{Numbers, Writer};
use super::{Reach, Redaction, SensitiveKind, scan};
use ai_services_core::guardrail::{ChunkGuardrail, ChunkVerdict};
use std::fmt;

/// Puts placeholders in place of what is sensitive in a text that comes in pieces.
///
/// What it tells is what [`Redaction::redact`] makes of the whole text, however it is cut. A word is kept
/// back until it is over, and so is what may go on: behind a digit some words more, because the groups of
/// a number may follow; behind the beginning of a private key everything up to its end. With words of
/// your own that contain blanks, and with functions of your own, it is kept back until the line is over.
///
/// With [`Placeholders::Numbered`](super::Placeholders::Numbered) the numbers go on through all pieces. A
/// placeholder that the text itself contains may have a number that was given before.
///
/// The time is linear in the length of the text.
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
/// let mut told = Vec::new();
/// while let Some(piece) = text.next().await {
///     told.push(piece?);
/// }
/// assert_eq!(told, ["Ask ", "[EMAIL], ", "or ", "nobody."]);
/// # Ok(())
/// # }
/// ```
pub struct StreamingRedaction {
    redaction: Redaction,
    /// The longest of all finders.
    reach: Reach,
    numbers: Numbers,
    /// What was not told yet.
    kept: String,
    /// How much of it was looked at.
    seen: usize,
    /// The first beginning of a key in it of which it is not known where it ends.
    key: Option<OpenKey>,
}

#[derive(Clone, Copy, Debug)]
struct OpenKey {
    start: usize,
    /// How much has to be there before its end is looked for again: each time more, so that the time is
    /// linear in the length of what never ends.
    look_at: usize,
}

/// The most signs and digits that a number consists of: those of the longest account number.
const LONGEST_NUMBER: usize = 34;

impl StreamingRedaction {
    pub(super) fn new(redaction: Redaction) -> Self {
        let reach = redaction.finders.iter().map(|finder| finder.reach);
        let reach = reach.max().unwrap_or(Reach::Pattern);
        let (numbers, kept) = (Numbers::default(), String::new());
        Self { redaction, reach, numbers, kept, seen: 0, key: None }
    }

    /// What can be told after one more piece.
    fn push(&mut self, piece: &str) -> String {
        self.kept.push_str(piece);
        self.follow_keys();
        let end = self.key.map_or(self.kept.len(), |key| key.start);
        let place = self.place_to_cut(end);
        self.seen = end;
        place.map(|place| self.take(place)).unwrap_or_default()
    }

    /// Looks where private keys begin and end.
    fn follow_keys(&mut self) {
        let mut kinds = self.redaction.finders.iter().filter_map(|finder| finder.kind);
        if !kinds.any(|kind| kind == SensitiveKind::PrivateKey) {
            return;
        }
        let mut from = match self.key {
            Some(key) if self.kept.len() < key.look_at => return,
            Some(key) => key.start,
            // It may have come in parts.
            None => scan::boundary(&self.kept, self.seen.saturating_sub(key::BEGIN.len())),
        };
        self.key = None;
        while let Some(Begun { start, end }) = key::begun(&self.kept, from) {
            let Some(end) = end else {
                let length = self.kept.len() - start;
                let look_at = self.kept.len() + 1 + length / 4;
                self.key = Some(OpenKey { start, look_at });
                return;
            };
            (from, self.seen) = (end, end);
        }
    }

    /// The last place behind what was seen where nothing that is found can go on.
    fn place_to_cut(&self, end: usize) -> Option<usize> {
        let new = self.kept.get(self.seen..end)?;
        let places = new.char_indices().rev().map(|(at, c)| (self.seen + at + c.len_utf8(), c));
        let mut places = places.filter(|(place, c)| match self.reach {
            // Scripts that are written without blanks are in no pattern.
            Reach::Pattern if *c >= '\u{2E80}' => true,
            Reach::Pattern | Reach::Word => {
                c.is_ascii_whitespace() && !may_go_on(self.kept.get(..*place).unwrap_or_default())
            }
            Reach::Line => *c == '\n',
            Reach::Text => false,
        });
        places.next().map(|(place, _)| place)
    }

    /// Redacts what is kept up to here.
    fn take(&mut self, end: usize) -> String {
        let rest = self.kept.split_off(end);
        let text = std::mem::replace(&mut self.kept, rest);
        self.seen = self.seen.saturating_sub(end);
        if let Some(key) = &mut self.key {
            key.start = key.start.saturating_sub(end);
            key.look_at = key.look_at.saturating_sub(end);
        }
        let numbers = std::mem::take(&mut self.numbers);
        let mut writer = Writer::resume(&self.redaction, numbers, [text.as_str()]);
        let told = self.redaction.text(&text, &mut writer).into_owned();
        self.numbers = writer.into_numbers();
        told
    }
}

/// Whether what is found may go on behind a text that ends between two words: there are digits, with nothing
/// behind them that ends a number, or it is told that a secret follows.
fn may_go_on(text: &str) -> bool {
    let (mut signs, mut between) = (0, 0);
    for c in text.chars().rev() {
        match c {
            '0'..='9' => return true,
            'A'..='Z' | 'a'..='z' => (signs, between) = (signs + 1, 0),
            c if scan::may_separate(c) => between += 1,
            _ => break,
        }
        if signs > LONGEST_NUMBER || between > MAX_BETWEEN {
            break;
        }
    }
    key::announces_secret(text)
}

impl ChunkGuardrail for StreamingRedaction {
    fn check(&mut self, text: &str) -> ChunkVerdict {
        ChunkVerdict::Rewrite(self.push(text))
    }

    fn finish(&mut self) -> ChunkVerdict {
        self.key = None;
        ChunkVerdict::Rewrite(self.take(self.kept.len()))
    }

    fn name(&self) -> &str {
        "redaction"
    }
}

impl fmt::Debug for StreamingRedaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { redaction, kept, .. } = self;
        f.debug_struct("StreamingRedaction")
            .field("redaction", redaction)
            .field("kept_bytes", &kept.len())
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

    /// What a redaction tells of each piece, and in the end.
    fn pieces<'a>(redaction: &Redaction, pieces: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut streaming = redaction.streaming();
        let mut told: Vec<String> = pieces.into_iter().map(|piece| streaming.push(piece)).collect();
        let ChunkVerdict::Rewrite(rest) = streaming.finish() else { panic!("it rewrites") };
        told.push(rest);
        told
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
        fn what_is_told_does_not_depend_on_the_pieces(
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
    fn words_are_told_when_they_are_over() {
        let told = pieces(&Redaction::all(), ["No", "body ", "kno", "ws, I am\nso", "rry."]);
        assert_eq!(told, ["", "Nobody ", "", "knows, I am\n", "", "sorry."]);
        let told = pieces(&Redaction::all(), ["我们", "a@b", ".de", "。是", "a"]);
        assert_eq!(told, ["我们", "", "", "[EMAIL]。是", "", "a"]);
    }

    #[test]
    fn digits_are_kept_as_long_as_others_may_follow() {
        let told = pieces(&Redaction::all(), ["Call 030 ", "1234567, ", "or ", "wait."]);
        assert_eq!(told, ["Call ", "[PHONE], ", "or ", "", "wait."]);
        // An account number has no more than 34 signs.
        for (word, told) in
            [("fourfold", ""), ("foursomes", "2026 and thirty letters or then come foursomes ")]
        {
            let text = format!("In 2026 and thirty letters or then come {word} ");
            assert_eq!(pieces(&Redaction::all(), ["In ", &text[3..], "x"])[1], told);
        }
    }

    #[test]
    fn key_is_kept_to_its_end() {
        let key = "-----BEGIN PRIVATE KEY-----\nMIIE\nMIIE\n-----END PRIVATE KEY-----\n";
        let text = format!("Here: {key}{}", "Keep it well. ".repeat(20));
        let cut: Vec<&str> = text.split_inclusive(' ').collect();
        let told = pieces(&Redaction::all(), cut);
        assert_eq!(told.concat(), Redaction::all().redact(&text));
        assert_eq!(told[0], "Here: ");
        // The end of the key is noticed before that of the text.
        let is_told = told.iter().position(|told| told.contains("[PRIVATE_KEY]")).unwrap();
        assert!(is_told < told.len() - 10, "{is_told} of {}", told.len());
        let others = Redaction::all().without(SensitiveKind::PrivateKey);
        assert_eq!(
            pieces(&others, ["-----BEGIN PRIVATE KEY-----\n", "x"])[0],
            "-----BEGIN PRIVATE KEY-----\n"
        );
    }

    #[test]
    fn words_with_blanks_are_kept_until_the_line_is_over() {
        let redaction = Redaction::all().words("NAME", ["Red Fox"]).unwrap();
        let told = pieces(&redaction, ["A Red ", "Fox ", "is a\nRed ", "Fox"]);
        assert_eq!(told, ["", "", "A [NAME] is a\n", "", "[NAME]"]);
        let redaction = Redaction::all().words("NAME", ["Red\nFox"]).unwrap();
        assert_eq!(pieces(&redaction, ["A Red\n", "Fox"]), ["", "", "A [NAME]"]);
    }

    #[test]
    fn numbers_go_on_through_all_pieces() {
        let redaction = Redaction::all().placeholders(Placeholders::Numbered);
        let told = pieces(&redaction, ["a@b.de ", "c@d.de ", "a@b.de [EMAIL_7] ", "e@f.de"]);
        assert_eq!(told, ["[EMAIL_1] ", "[EMAIL_2] ", "[EMAIL_1] [EMAIL_7] ", "", "[EMAIL_8]"]);
    }

    /// A hundred thousand characters, of which much is kept or looked at again.
    #[test]
    fn hostile_texts_take_linear_time() {
        const KEY: &str = "-----BEGIN PRIVATE KEY-----\n";
        for (first, part) in [
            ("", "1 "),
            ("", "1"),
            ("", "- "),
            ("", "a "),
            ("", "-----BEGIN "),
            ("", KEY),
            (KEY, "MIIE"),
            (KEY, "MIIE\n"),
            (KEY, "----"),
            (KEY, "-----END "),
        ] {
            let text = format!("{first}{}", part.repeat(100_000 / part.len()));
            let cut: Vec<&str> =
                (0..text.len()).step_by(4).map(|at| &text[at..text.len().min(at + 4)]).collect();
            let started = std::time::Instant::now();
            let told = pieces(&Redaction::all(), cut).concat();
            // Quadratic time would be minutes.
            assert!(started.elapsed().as_secs() < 20, "{part}: {:?}", started.elapsed());
            assert_eq!(told, Redaction::all().redact(&text), "{part}");
        }
    }

    #[test]
    fn nothing_that_is_kept_is_shown() {
        let mut streaming = Redaction::all().streaming();
        streaming.push("ann@example.org");
        assert!(!format!("{streaming:?}").contains("ann"), "{streaming:?}");
    }
}
