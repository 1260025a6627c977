//! Tests of all finders together.

use super::*;
use crate::steps;
use proptest::prelude::*;

/// Returns the findings of a finder in a text.
pub(super) fn all(find: scan::FindFn, text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    find(text, &mut found);
    found.into_iter().map(|range| &text[range]).collect()
}

const TOKEN: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N";
const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----";

#[test]
fn every_kind_has_its_placeholder() {
    let text = format!(
        "ann@example.org, +49 30 1234567, DE89 3704 0044 0532 0130 00, 4111 1111 1111 1111, 192.0.2.7, {TOKEN}, {KEY}, sk-0123456789abcdef."
    );
    let redacted = "[EMAIL], [PHONE], [IBAN], [CARD], [IP], [JWT], [PRIVATE_KEY], [API_KEY].";
    assert_eq!(Redaction::all().redact(&text), redacted);
}

#[test]
fn look_alike_and_invisible_characters_hide_nothing() {
    for (text, redacted) in [
        ("ann\u{200b}@exam\u{ad}ple.org, or", "[EMAIL], or"),
        ("ann＠example．org", "[EMAIL]"),
        ("ann﹫example.org", "[EMAIL]"),
        ("𝐚𝐧𝐧@ⓔxample.org", "[EMAIL]"),
        ("jose\u{301}@example.org", "[EMAIL]"),
        ("ann\u{2010}b@example.org", "[EMAIL]"),
        ("mail\u{e0061}ann@example.org", "[EMAIL]"),
        ("４１１１ １１１１ １１１１ １１１１", "[CARD]"),
        ("41\u{200d}11 1111\u{feff} 1111 1111", "[CARD]"),
        ("4111.1111.1111.1111.", "[CARD]."),
        ("4111/1111/1111/1111", "[CARD]"),
        ("4111\u{a0}1111\u{202f}1111\u{2011}1111", "[CARD]"),
        ("DE89.3704.0044.0532.0130.00", "[IBAN]"),
        ("ＤＥ８９ ３７０４ ００４４ ０５３２ ０１３０ ００", "[IBAN]"),
        ("DE89\u{a0}3704\u{202f}0044\u{2009}0532\u{2011}0130\u{2013}00", "[IBAN]"),
        ("电话：＋４９（０）３０ １２３４５６７，谢谢", "电话：[PHONE]，谢谢"),
        ("\u{660}\u{663}\u{660} \u{661}\u{662}\u{663}\u{664}\u{665}\u{666}\u{667}", "[PHONE]"),
        ("030\u{a0}1234\u{2060}567", "[PHONE]"),
        ("192\u{200b}.0．2.7", "[IP]"),
        ("s\u{200b}k-0123456789ab\u{ad}cdef", "[API_KEY]"),
        ("Bearer\u{a0}abc.def-123/456+789==", "Bearer\u{a0}[API_KEY]"),
        (
            "\u{2011}----BEGIN\u{a0}PRIVATE\u{200b} KEY-----\nMIIE\n-----END PRIVATE KEY-----",
            "[PRIVATE_KEY]",
        ),
    ] {
        assert_eq!(Redaction::all().redact(text), redacted, "{text:?}");
        let around = format!("Zé\u{301}: {text} 谢谢");
        assert_eq!(Redaction::all().redact(&around), format!("Zé\u{301}: {redacted} 谢谢"));
    }
}

#[test]
fn differently_written_values_have_the_same_number() {
    let redaction = Redaction::all().placeholders(Placeholders::Numbered);
    let text =
        "030 1234567, ０３０ １２３４５６７, 0\u{200b}30 123\u{2011}4567, ０３０ １２３４５６８";
    assert_eq!(redaction.redact(text), "[PHONE_1], [PHONE_1], [PHONE_1], [PHONE_2]");
    assert_eq!(redaction.redact("a@b.de, a＠b.de"), "[EMAIL_1], [EMAIL_1]");
}

#[test]
fn kinds_can_be_disabled() {
    let text = "ann@example.org, 192.0.2.7";
    assert_eq!(
        Redaction::all().without(SensitiveKind::Email).redact(text),
        "ann@example.org, [IP]"
    );
    assert_eq!(Redaction::only([]).redact(text), text);
}

#[test]
fn overlapping_matches_are_replaced_together() {
    let redaction = Redaction::all().words("NAME", ["Ann", "is ann"]).unwrap();
    assert_eq!(redaction.redact("It is ann@example.org."), "It [EMAIL].");
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(redaction.redact(&bearer), "Bearer [JWT]");
}

#[test]
fn equal_values_have_the_same_number() {
    let redaction = Redaction::all().placeholders(Placeholders::Numbered);
    let text = "030 1234567 or 030/123 45 67, DE89370400440532013000, 0171 1234567";
    assert_eq!(redaction.redact(text), "[PHONE_1] or [PHONE_1], [IBAN_1], [PHONE_2]");
    let text = "[EMAIL_3] is not a@b.de";
    assert_eq!(redaction.redact(text), "[EMAIL_3] is not [EMAIL_4]");
    let text = "[EMAIL_999999] a@b.de";
    assert_eq!(redaction.redact(text), "[EMAIL_999999] [EMAIL_999999]");
}

#[test]
fn number_in_brackets_is_not_a_placeholder() {
    for (text, redacted) in
        [("[CARD_4111111111111111]", "[CARD_[CARD]]"), ("[CARD_411111]", "[CARD_411111]")]
    {
        assert_eq!(Redaction::all().redact(text), redacted);
    }
}

#[test]
fn redacted_message_keeps_other_contents_and_name() {
    let image = Content::image_url("https://example.org/a@b.de.png");
    let message = UserMessage::from_contents([
        Content::from("I am a@b.de"),
        image.clone(),
        Content::from("not c@d.de, but a@b.de"),
    ])
    .with_name("Ann");
    let redaction = Redaction::all().placeholders(Placeholders::Numbered);
    let redacted = redaction.redact_message(&message);
    let contents =
        [Content::from("I am [EMAIL_1]"), image, Content::from("not [EMAIL_2], but [EMAIL_1]")];
    assert_eq!(redacted.contents(), contents);
    assert_eq!(redacted.name(), Some("Ann"));
    assert!(matches!(redaction.redact_message(&redacted), Cow::Borrowed(_)));
}

#[test]
fn invalid_ranges_of_functions_are_corrected() {
    let ranges = vec![1..2, 4..900, 3..3, 900..901, Range { start: 3, end: 2 }];
    // `ä` is two bytes.
    let find = move |text: &str| if text.starts_with('ä') { ranges.clone() } else { Vec::new() };
    let redaction = Redaction::only([]).custom("X", find).unwrap();
    assert_eq!(redaction.redact("äbcdef"), "[X]bc[X]");
}

#[test]
fn labels_are_checked() {
    for label in ["", "a", "A1", "A B", "_A", "A__B", "A]", "EMAIL"] {
        let error = Redaction::only([]).words(label, ["x"]).unwrap_err();
        assert_eq!(error.kind(), ai_services_core::ErrorKind::Configuration, "{label}");
    }
    let twice = Redaction::all().words("A_B", ["x"]).and_then(|all| all.words("A_B", ["y"]));
    assert!(twice.is_err());
}

/// Each text has many possible starts of matches.
#[test]
fn hostile_texts_take_linear_time() {
    for part in [
        "-----BEGIN PRIVATE KEY-----",
        "eyJ.",
        "eyJabc.abc.",
        "sk-",
        "SG.",
        "a@",
        "a@b.",
        "1 ",
        "030 ",
        "4111 ",
        "411111111111111",
        "1:",
        "1.",
        "[",
        "[EMAIL_",
        "DE89 ",
        "Bearer ",
        "a@b.de ",
        "@a.bee",
        "@例.",
        "例@例子",
        "\u{200b}",
        "1\u{200b}",
        "４",
        "４１１１．",
        "Aa",
        "glpat-Aa",
        "030/1234567/",
        "2001:db8::1ann@example.org-",
        "+49301234567",
    ] {
        steps::assert_linear(part, 100_000, |size| {
            let text = part.repeat(size / part.len());
            let _ = Redaction::all().redact(&text);
            let _ = Redaction::all().placeholders(Placeholders::Numbered).redact(&text);
        });
    }
}

/// Pieces that are significant for the finders.
const PIECES: [&str; 56] = [
    "ann@example.org",
    "@",
    "a",
    ".de",
    "+49 30 1234567",
    "030",
    "1234567",
    "0",
    "DE89 3704 0044 0532 0130 00",
    "DE89",
    "4111111111111111",
    "4111 1111",
    " 1111 1111",
    "192.0.2.7",
    "2001:db8::1",
    ":",
    "::",
    "1",
    "sk-0123456789abcdef",
    "sk-",
    "Bearer ",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.dozjgNryP4J3",
    "eyJ",
    ".",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "-----",
    "\n",
    " ",
    "-",
    "(",
    ")",
    "+",
    "[",
    "]",
    "[EMAIL]",
    "[EMAIL_2]",
    "PHONE",
    "_1",
    "ü",
    "谢",
    "\u{a0}",
    "Bluebird",
    "030/1234567",
    "13800138000",
    "202-555-0123",
    "/",
    "\u{200b}",
    "\u{ad}",
    "\u{301}",
    "＠",
    "．",
    "４１１１ １１１１",
    "\u{2011}",
    "例子.中国",
    "02110-1301",
];

/// Repeats every pair of pieces. Matches rarely create new ones, so the remaining text is searched only a few
/// times, however long it is.
#[test]
fn remaining_text_is_searched_a_few_times() {
    let searched = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&searched);
    let counting = move |text: &str| {
        count.fetch_add(text.len(), std::sync::atomic::Ordering::Relaxed);
        Vec::new()
    };
    let redaction = Redaction::all().custom("COUNT", counting).unwrap();
    let between = ["", "/", "-"];
    for (first, second) in PIECES.iter().flat_map(|a| PIECES.iter().map(move |b| (a, b))) {
        for sign in between {
            let part = format!("{first}{second}{sign}");
            let text = part.repeat(8);
            searched.store(0, std::sync::atomic::Ordering::Relaxed);
            let _ = redaction.redact(&text);
            let times = searched.load(std::sync::atomic::Ordering::Relaxed) / text.len();
            assert!(times <= 3, "{part}: {times} times");
        }
    }
}

/// Generates texts of pieces that are significant for the finders.
fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(PIECES.to_vec());
    prop_oneof![
        prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat()),
        "[0-9 .+()/-]{0,40}",
        any::<String>(),
    ]
}

fn redactions() -> impl Strategy<Value = Redaction> {
    let kinds = prop::sample::subsequence(SensitiveKind::ALL.to_vec(), 0..=8);
    let placeholders = prop::sample::select(vec![Placeholders::Plain, Placeholders::Numbered]);
    (kinds, placeholders, any::<bool>()).prop_map(|(kinds, placeholders, words)| {
        let redaction = Redaction::only(kinds).placeholders(placeholders);
        let words: &[&str] = if words { &["Bluebird", "1", "EMAIL", "["] } else { &[] };
        redaction.words("OWN", words.iter().copied()).unwrap()
    })
}

/// Generates data that is always recognized, unless a letter or digit is adjacent.
fn recognizable() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-z0-9._+-]{0,8}[a-z0-9]@[a-z]{1,8}\\.[a-z]{2,6}",
        "\\+[1-9][0-9]{7,14}",
        "0[1-9][0-9]{7,10}",
        "sk-[A-Za-z0-9]{16,40}7",
        "ghp_[A-Za-z0-9]{20,36}7",
        any::<[u8; 4]>().prop_map(|bytes| std::net::Ipv4Addr::from(bytes).to_string()),
        any::<[u16; 8]>().prop_filter_map("an address with letters only", |words| {
            let text = std::net::Ipv6Addr::from(words).to_string();
            text.bytes().any(|b| b.is_ascii_digit()).then_some(text)
        }),
        "[4][0-9]{14}".prop_map(|digits| {
            let mut cards = (0..10).map(|last| format!("{digits}{last}"));
            cards.find(|card| all(account::cards, card).len() == 1).unwrap()
        }),
        "[0-9]{18}".prop_map(|digits| {
            let mut ibans = (2..=98).map(|check| format!("DE{check:02}{digits}"));
            ibans.find(|iban| all(account::ibans, iban).len() == 1).unwrap()
        }),
    ]
}

proptest! {
    #[test]
    fn redaction_is_idempotent(text in texts(), redaction in redactions()) {
        let once = redaction.redact(&text);
        prop_assert!(matches!(redaction.redact(&once), Cow::Borrowed(_)), "{}", once);
    }

    #[test]
    fn recognizable_data_is_removed(
        secret in recognizable(),
        before in "[ ,;<>\"\u{e9}!]{0,3}",
        after in "[ ,;<>\"!?]{0,3}",
    ) {
        let text = format!("x{before} {secret} {after}y");
        let redacted = Redaction::all().redact(&text);
        prop_assert!(!redacted.contains(&secret), "{}", redacted);
        let start = format!("x{before}");
        prop_assert!(redacted.starts_with(&start) && redacted.ends_with('y'));
    }

    #[test]
    fn text_without_matches_is_borrowed(text in "[a-z ,!?äöü谢]{0,80}") {
        prop_assert!(matches!(Redaction::all().redact(&text), Cow::Borrowed(_)));
    }

    #[test]
    fn other_text_is_kept(text in texts(), redaction in redactions()) {
        // Without its placeholders, the redacted text is a subsequence of the text.
        let redacted = redaction.redact(&text);
        let writer = Writer::new(&redaction, []);
        let mut rest = text.as_str();
        for part in writer.between_placeholders(&redacted) {
            let part = &redacted[part];
            let at = rest.find(part);
            prop_assert!(at.is_some(), "{:?} of {:?}", part, redacted);
            rest = &rest[at.unwrap() + part.len()..];
        }
    }
}
