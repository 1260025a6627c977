use super::*;

fn text(json: &str) -> Result<String, Fault> {
    match whole_text(json)? {
        Node::Text(text) => Ok(text.text.into_owned()),
        other => panic!("{other:?}"),
    }
}

fn opened(json: &str) -> Node<'_> {
    open(json, 0).unwrap_or_else(|fault| panic!("{json}: {fault:?}")).0
}

#[test]
fn json_is_read_as_serde_json_reads_it() {
    let texts = [
        "null",
        "true",
        "-0",
        "0.5e-3",
        "[]",
        "{}",
        "[1, 2.0,\"x\"]",
        "{\"a\":{\"b\":[null]}}",
        "\"\\u00e4\\ud83d\\ude00\\n\\/\"",
        "nul",
        "truee",
        "01",
        "1.",
        ".5",
        "+1",
        "[1",
        "[1 2]",
        "{\"a\"}",
        "{a:1}",
        "\"\t\"",
        "\"\\x\"",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "'x'",
        "",
        " ",
        "NaN",
        "[,]",
        "[1]]",
        "\"\\udc00\"",
        "\u{feff}1",
        "1e",
        "-",
        "--1",
        "{\"a\":}",
        "\"",
    ];
    for json in texts {
        let ours = whole_text(json).is_ok();
        let theirs = serde_json::from_str::<serde_json::Value>(json).is_ok();
        assert_eq!(ours, theirs, "{json}");
    }
}

#[test]
fn comma_before_a_closing_bracket_is_forgiven() {
    for json in ["[1,]", "{\"a\":1,}", "[[],{ }, ]"] {
        assert!(whole_text(json).is_ok(), "{json}");
    }
    assert!(whole_text("[1,,]").is_err());
}

#[test]
fn escapes_become_characters() {
    assert_eq!(text(r#""\"\\\/\b\f\n\r\t""#), Ok("\"\\/\u{8}\u{c}\n\r\t".to_owned()));
    assert_eq!(text(r#""a\u00e4\ud83d\ude00z""#), Ok("aä😀z".to_owned()));
}

#[test]
fn key_given_twice_is_a_fault() {
    let many = |last: usize| {
        let members: Vec<_> = (0..20).chain([last]).map(|key| format!("\"{key}\":0")).collect();
        format!("{{{}}}", members.join(","))
    };
    assert_eq!(whole_text(r#"{"a":1,"\u0061":2}"#), Err(Fault::Twice("a".to_owned())));
    assert_eq!(whole_text(&many(7)), Err(Fault::Twice("7".to_owned())));
    assert!(whole_text(&many(20)).is_ok());
}

#[test]
fn nesting_has_an_end() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(whole_text(&nested(128)).is_ok());
    assert_eq!(whole_text(&nested(129)), Err(Fault::TooDeep));
    assert_eq!(whole_text(&"[{\"a\":".repeat(1_000_000)), Err(Fault::TooDeep));
}

#[test]
fn unfinished_text_goes_as_far_as_whole_characters_came() {
    let so_far = |json: &str| match opened(json) {
        Node::Text(text) => (text.text.into_owned(), text.is_closed),
        other => panic!("{other:?}"),
    };
    for json in ["\"a", "\"a\\", "\"a\\u", "\"a\\u00e", "\"a\\ud83d", "\"a\\ud83d\\ude0"] {
        assert_eq!(so_far(json), ("a".to_owned(), false), "{json}");
    }
    assert_eq!(so_far("\"a\\ud83d\\ude00"), ("a😀".to_owned(), false));
    assert_eq!(so_far("\"a\""), ("a".to_owned(), true));
}

#[test]
fn unfinished_numbers_keys_and_words_are_withheld() {
    for json in ["{\"a\":[1,2", "{\"a\":[1,tr", "{\"a\":[1,", "{\"a\":[1,-", "{\"a\":[1,2."] {
        let node = opened(json);
        let Some(Node::List(list)) = node.member("a") else { panic!("{json}") };
        assert_eq!((list.items.len(), list.is_closed), (1, false), "{json}");
    }
    for json in ["{\"a\":1,\"b", "{\"a\":1,\"b\"", "{\"a\":1,\"b\":", "{\"a\":1,"] {
        let Node::Object(object) = opened(json) else { panic!("{json}") };
        assert_eq!((object.members.len(), object.is_closed), (1, false), "{json}");
    }
}

#[test]
fn whole_numbers_are_exact() {
    let value = |text: &str| whole(text).map(|whole| (whole.is_negative, whole.magnitude));
    for (text, expected) in [
        ("42.0", 42),
        ("4e2", 400),
        ("400e-2", 4),
        ("0.04e3", 40),
        ("+6", 6),
        ("1.", 1),
        ("007", 7),
        ("0e999999999999999999999", 0),
        ("0.0", 0),
        ("9007199254740993", 9_007_199_254_740_993),
    ] {
        assert_eq!(value(text), Some((false, expected)), "{text}");
    }
    assert_eq!(value("-7.00"), Some((true, 7)));
    for text in [
        "4.5",
        "1e-1",
        ".5",
        "1e39",
        "1e999999999999999999999",
        "",
        ".",
        "e1",
        "1_0",
        "٣",
        "1e",
        "0x1",
        "5 ",
    ] {
        assert_eq!(value(text), None, "{text}");
    }
}

#[test]
fn floats_are_finite() {
    assert_eq!(float::<f64>("-0").map(f64::to_bits), Some((-0.0f64).to_bits()));
    assert_eq!(float::<f32>(".5"), Some(0.5));
    assert_eq!((float::<f64>("1e400"), float::<f32>("1e39")), (None, None));
    assert_eq!(
        (float::<f64>("NaN"), float::<f64>("inf"), float::<f64>("1.5f")),
        (None, None, None)
    );
}
