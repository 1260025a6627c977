//! Tests of the rendered text, for every division into pieces.

use super::Markdown;
use std::time::{Duration, Instant};

/// Renders a text, with readable styles: `<1>bold</>`.
fn rendered<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
    let mut markdown = Markdown::default();
    let mut out: String = pieces.into_iter().map(|piece| markdown.push(piece)).collect();
    out.push_str(&markdown.finish());
    let chars = styled_chars(&out);
    let mut text = String::new();
    let mut last = "";
    for (style, c) in &chars {
        if style != last {
            text.push_str(if last.is_empty() { "" } else { "</>" });
            text.push_str(&if style.is_empty() { String::new() } else { format!("<{style}>") });
            last = style;
        }
        text.push(*c);
    }
    text.push_str(if last.is_empty() { "" } else { "</>" });
    text
}

/// Splits rendered text into characters with their styles.
fn styled_chars(mut out: &str) -> Vec<(String, char)> {
    let mut style = String::new();
    let mut chars = Vec::new();
    while let Some(c) = out.chars().next() {
        match out.strip_prefix("\u{1b}[0") {
            Some(rest) => {
                let (codes, rest) = rest.split_once('m').unwrap();
                style = codes.trim_start_matches(';').to_owned();
                out = rest;
            }
            None => {
                chars.push((style.clone(), c));
                out = out.strip_prefix(c).unwrap();
            }
        }
    }
    assert_eq!(style, "", "the output does not end unstyled");
    chars
}

const CASES: &[(&str, &str)] = &[
    ("plain, 2 * 3 = 6 and 2*3*4", "plain, 2 * 3 = 6 and 2*3*4"),
    ("# Title\n### Part *one*\n", "<1;4>Title</>\n<1>Part </><1;3>one</>\n"),
    ("#hash\n####### seven\n#", "#hash\n####### seven\n#"),
    ("a **bold** word", "a <1>bold</> word"),
    ("an *italic* word, _too_", "an <3>italic</> word, <3>too</>"),
    ("***both***, **a *b* c**", "<1;3>both</>, <1>a </><1;3>b</><1> c</>"),
    ("*a **b***.", "<3>a </><1;3>b</>."),
    ("**a *b***", "<1>a </><1;3>b</>"),
    ("这是**重点**内容", "这是<1>重点</>内容"),
    ("snake_case_name and __init__", "snake_case_name and <1>init</>"),
    ("**never closed\n*nor this", "**never closed\n*nor this"),
    ("** no ** and * no *", "** no ** and * no *"),
    ("call `f(*x)` or ``a`b``", "call <36>f(*x)</> or <36>a`b</>"),
    ("**see `x**`**", "<1>see </><1;36>x**</>"),
    ("a ` alone", "a ` alone"),
    ("`code`", "<36>code</>"),
    (r"\*no\* \a C:\", r"*no* \a C:\"),
    ("[text](https://x.y/a_b_(c)).", "<4>text</> <2>(https://x.y/a_b_(c))</>."),
    ("[https://x](https://x)", "<2>(https://x)</>"),
    ("[*a* [b]](c)", "<3;4>a</><4> [b]</> <2>(c)</>"),
    ("[1] and [x](no end", "[1] and [x](no end"),
    ("- one\n* two\n  + **three**\n- [ ] do", "• one\n• two\n  • <1>three</>\n• [ ] do"),
    ("1. one\n2) two", "1. one\n2) two"),
    ("-5 degrees\n-\n**b** c\n*i*", "-5 degrees\n-\n<1>b</> c\n<3>i</>"),
    ("---\n* * *\n  ___\n--", "<2>─</>\n<2>─</>\n  <2>─</>\n--"),
    ("> a *b*\n>> - c\n>", "<2>│ </>a <3>b</>\n<2>│ │ </>• c\n<2>│ </>"),
    ("> ```\n> # x", "<2>│ </>```\n<2>│ </><1;4>x</>"),
    (
        "```rust\nlet *x* = `y`;\n  ``\n# no\n\n````  \n*a*",
        "<2>```rust</>\nlet *x* = `y`;\n  ``\n# no\n\n<2>````  </>\n<3>a</>",
    ),
    ("  ~~~\n```\n  ~~~\n**b**", "<2>  ~~~</>\n```\n<2>  ~~~</>\n<1>b</>"),
    ("```one line``` **b**", "<36>one line</> <1>b</>"),
    ("```\nnever closed **b**", "<2>```</>\nnever closed **b**"),
    ("| a | **b** |\n|---|---|", "| a | **b** |\n|---|---|"),
    ("\n\n  a\t**b**\n\n", "\n\n  a\t<1>b</>\n\n"),
    ("é**ü**🎉*ö*🎉", "é<1>ü</>🎉<3>ö</>🎉"),
    ("", ""),
];

/// Replaces each rule by one stroke, to keep the cases short.
fn shortened(rendered: &str) -> String {
    rendered.replace(super::RULE, "─")
}

#[test]
fn markers_become_styles() {
    for (text, expected) in CASES {
        assert_eq!(shortened(&rendered([*text])), *expected, "{text:?}");
    }
}

/// Asserts that the division into pieces does not change the output.
fn assert_same_in_pieces(text: &str) {
    let whole = rendered([text]);
    assert_eq!(rendered(text.split_inclusive(|_| true)), whole, "{text:?}");
    for at in (0..text.len()).filter(|&at| text.is_char_boundary(at)) {
        let (first, second) = text.split_at(at);
        assert_eq!(rendered([first, second]), whole, "{text:?} at {at}");
    }
}

#[test]
fn pieces_may_end_anywhere() {
    let all: Vec<_> = CASES.iter().map(|(text, _)| *text).collect();
    for text in &all {
        assert_same_in_pieces(text);
    }
    assert_same_in_pieces(&all.join("\n"));
}

/// Returns reproducible pseudo-random texts with many markers and few words.
fn random_texts(
    alphabet: &'static [&'static str],
    max_tokens: usize,
) -> impl Iterator<Item = String> {
    let mut state = 1_u64;
    let mut random = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 40).unwrap()
    };
    std::iter::repeat_with(move || {
        let length = random() % max_tokens;
        (0..length).map(|_| alphabet[random() % alphabet.len()]).collect()
    })
}

const ALPHABET: &[&str] = &[
    "*", "*", "**", "_", "__", "`", "`", "```", "~~~", "[", "]", "(", ")", "](", "\\", "#", "- ",
    "> ", "+", "|", " ", " ", "\n", "\n", "a", "b", "é", "1. ", "---", "\t",
];

#[test]
fn random_texts_are_the_same_in_pieces() {
    random_texts(ALPHABET, 24).take(4000).for_each(|text| assert_same_in_pieces(&text));
}

#[test]
fn random_long_lines_are_the_same_in_pieces() {
    for text in random_texts(ALPHABET, 6000).take(40).map(|text| text.replace('\n', "ab cd")) {
        assert_eq!(rendered(text.split_inclusive(|_| true)), rendered([&*text]), "{text:?}");
    }
}

#[test]
fn hostile_lines_are_printed_in_bounded_time() {
    let started = Instant::now();
    for part in ["[", "*a ", "`", "_a", "\\", "- ", "# ", " ", "```", "[a](", "**a `", "> "] {
        let text = part.repeat(10_000 / part.len());
        assert_eq!(rendered(text.split_inclusive(|_| true)), rendered([&*text]), "{part:?}");
    }
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

#[test]
fn words_are_not_lost_or_reordered() {
    // Links are left out, because a link whose name is its address is shown once.
    let words = |text: &str| -> Vec<char> {
        text.chars().filter(|c| c.is_alphanumeric() || matches!(c, '\n' | '(' | '|')).collect()
    };
    for text in random_texts(ALPHABET, 24).take(4000).filter(|text| !text.contains("](")) {
        let mut markdown = Markdown::default();
        let out = markdown.push(&text) + &markdown.finish();
        let out: String = styled_chars(&out).into_iter().map(|(_, c)| c).collect();
        assert_eq!(words(&out), words(&text), "{text:?}");
    }
}

#[test]
fn only_possible_markers_are_held_back() {
    let mut markdown = Markdown::default();
    for (piece, expected) in [
        ("The ", "The "),
        ("answer", "answer"),
        (" is **", " is "),
        ("four", ""),
        ("**, ", "\u{1b}[0;1mfour\u{1b}[0m, "),
        ("[sic", ""),
        ("] a", "[sic] a"),
        ("\n-", "\n"),
        (" b", "• b"),
        ("\n##", "\n"),
        (" c", "\u{1b}[0;1;4mc\u{1b}[0m"),
        ("\n```", "\n"),
        ("\n", "\u{1b}[0;2m```\u{1b}[0m\n"),
        ("**d", "**d"),
    ] {
        assert_eq!(markdown.push(piece), expected, "{piece:?}");
    }
}

#[test]
fn unclosed_marker_is_printed_after_a_limit() {
    let words = "word ".repeat(1000);
    for begin in ["**", "[", "`", "*a `", "- - ", "```", "\t"] {
        let text = format!("{begin}{words}");
        let mut markdown = Markdown::default();
        let out: usize = text.split_inclusive(' ').map(|word| markdown.push(word).len()).sum();
        assert!(out + 1100 > text.len(), "{begin:?}: {out} of {}", text.len());
        assert_eq!(rendered([&*text]), rendered(text.split_inclusive(' ')), "{begin:?}");
    }
}
