//! Answers of servers that do not fail.

use ai_services_tests::protocols::{TEXT, exchanges};

#[tokio::test]
async fn successful_answers_are_read() {
    for exchange in exchanges() {
        let outcome = exchange.ask_once(exchange.answer()).await;
        outcome.assert_whole(&exchange, "no failure");
        let said = &outcome.content;
        assert_eq!(said.text, TEXT, "{exchange:?}");
        let [(_, name, arguments)] = &said.calls[..] else {
            unreachable!("{exchange:?}: {said:?}")
        };
        let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap();
        assert_eq!((&**name, arguments), ("weather", serde_json::json!({ "city": "Oslo" })));
        assert!(said.usage.input.is_some() && said.usage.output.is_some(), "{exchange:?}");
        let response = outcome.end.unwrap();
        assert_eq!(response.attempts, Some(1), "{exchange:?}");
        assert!(response.finish_reason.is_some(), "{exchange:?}");
    }
}
