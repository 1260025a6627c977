use super::*;
use quote::quote;

#[test]
fn report_is_one_compile_error() {
    let mut cx = Diagnostics::new();
    cx.error(&quote!(x), "wrong".to_owned()).excerpt("a {{b}}\n  ^^^^^").note("why").help("do");
    let expected =
        r#":: core :: compile_error ! { "wrong\n    a {{b}}\n      ^^^^^\nnote: why\nhelp: do" }"#;
    assert_eq!(cx.finish().unwrap_err().to_string(), expected);
}

#[test]
fn every_report_is_emitted() {
    let mut cx = Diagnostics::new();
    cx.error(&quote!(x), "first".to_owned());
    cx.error(&quote!(y), "second".to_owned());
    let tokens = cx.finish().unwrap_err().to_string();
    assert_eq!(tokens.matches("compile_error").count(), 2);
}

#[test]
fn no_mistakes_are_ok() {
    assert!(Diagnostics::new().finish().is_ok());
}
