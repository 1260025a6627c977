use super::*;

fn text(json: &str) -> Result<String, SyntaxError> {
    match parse_complete(json)? {
        Node::Text(text) => Ok(text.text.into_owned()),
        other => panic!("{other:?}"),
    }
}

fn opened(json: &str) -> Node<'_> {
    parse_partial(json, 0).unwrap_or_else(|error| panic!("{json}: {error:?}")).0
}

#[test]
fn parser_accepts_the_same_texts_as_serde_json() {
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
        let ours = parse_complete(json).is_ok();
        let theirs = serde_json::from_str::<serde_json::Value>(json).is_ok();
        assert_eq!(ours, theirs, "{json}");
    }
}

#[test]
fn trailing_comma_is_accepted() {
    for json in ["[1,]", "{\"a\":1,}", "[[],{ }, ]"] {
        assert!(parse_complete(json).is_ok(), "{json}");
    }
    assert!(parse_complete("[1,,]").is_err());
}

#[test]
fn escapes_become_characters() {
    assert_eq!(text(r#""\"\\\/\b\f\n\r\t""#), Ok("\"\\/\u{8}\u{c}\n\r\t".to_owned()));
    assert_eq!(text(r#""a\u00e4\ud83d\ude00z""#), Ok("aä😀z".to_owned()));
}

#[test]
fn duplicate_key_is_rejected() {
    let duplicate = |path: &str, key: &str| SyntaxError::DuplicateKey {
        path: path.to_owned(),
        key: key.to_owned(),
    };
    let many = |last: usize| {
        let members: Vec<_> = (0..20).chain([last]).map(|key| format!("\"{key}\":0")).collect();
        format!("{{{}}}", members.join(","))
    };
    assert_eq!(parse_complete(r#"{"a":1,"\u0061":2}"#), Err(duplicate("", "a")));
    assert_eq!(parse_complete(&many(7)), Err(duplicate("", "7")));
    assert!(parse_complete(&many(20)).is_ok());
    let nested = r#"{"a":[0,[{"b":{"c":1,"c":2}}]]}"#;
    assert_eq!(parse_complete(nested), Err(duplicate("a[1][0].b", "c")));
}

#[test]
fn deep_nesting_is_rejected() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(parse_complete(&nested(128)).is_ok());
    assert_eq!(parse_complete(&nested(129)), Err(SyntaxError::TooDeep));
    assert_eq!(parse_complete(&"[{\"a\":".repeat(1_000_000)), Err(SyntaxError::TooDeep));
}

#[test]
fn incomplete_text_contains_all_complete_characters() {
    let partial = |json: &str| match opened(json) {
        Node::Text(text) => (text.text.into_owned(), text.is_closed),
        other => panic!("{other:?}"),
    };
    for json in ["\"a", "\"a\\", "\"a\\u", "\"a\\u00e", "\"a\\ud83d", "\"a\\ud83d\\ude0"] {
        assert_eq!(partial(json), ("a".to_owned(), false), "{json}");
    }
    assert_eq!(partial("\"a\\ud83d\\ude00"), ("a😀".to_owned(), false));
    assert_eq!(partial("\"a\""), ("a".to_owned(), true));
}

#[test]
fn incomplete_numbers_keys_and_literals_are_withheld() {
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
    let value = |text: &str| integer(text).map(|whole| (whole.is_negative, whole.magnitude));
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
