//! A streamed answer equals the same answer without streaming.

use super::client;
use crate::fixtures::whole_and_streamed;
use ai_services::model::ChatResponse;
use ai_services_tests::fault_server::{events_answer, json_answer};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A part of an answer; texts also cut into pieces.
#[derive(Clone, Debug)]
enum Part {
    Text { pieces: Vec<String>, thought: bool },
    Signed { text: String },
    Call { name: String, id: bool, signed: bool },
    Image,
}

fn part() -> impl Strategy<Value = Part> {
    let text = || "[a-zé😀\"\\\\\n{} ]{0,6}";
    prop_oneof![
        (prop::collection::vec(text(), 0..4), any::<bool>())
            .prop_map(|(pieces, thought)| Part::Text { pieces, thought }),
        text().prop_map(|text| Part::Signed { text }),
        ("[a-z]{1,3}", any::<bool>(), any::<bool>()).prop_map(|(name, id, signed)| Part::Call {
            name,
            id,
            signed
        }),
        Just(Part::Image),
    ]
}

/// Returns the whole part, and its pieces.
fn written(part: &Part, index: usize) -> (Value, Vec<Value>) {
    match part {
        Part::Text { pieces, thought } => {
            let of = |text: &str| match thought {
                true => json!({ "text": text, "thought": true }),
                false => json!({ "text": text }),
            };
            (of(&pieces.concat()), pieces.iter().map(|piece| of(piece)).collect())
        }
        Part::Signed { text } => {
            let signed = json!({ "text": text, "thoughtSignature": "c2ln" });
            (signed.clone(), vec![signed])
        }
        Part::Call { name, id, signed } => {
            let mut call = json!({ "functionCall": { "name": name, "args": { "a": [1, "b c"] } } });
            if *id {
                call["functionCall"]["id"] = format!("c{index}").into();
            }
            if *signed {
                call["thoughtSignature"] = "c2ln".into();
            }
            (call.clone(), vec![call])
        }
        Part::Image => {
            let image = json!({ "inlineData": { "mimeType": "image/png", "data": "AAAA" } });
            (image.clone(), vec![image])
        }
    }
}

fn document(parts: Vec<Value>, reason: Option<&str>) -> Value {
    json!({
        "candidates": [{ "content": { "parts": parts, "role": "model" }, "finishReason": reason }],
        "usageMetadata": { "promptTokenCount": 3, "candidatesTokenCount": 9 },
        "modelVersion": "m", "responseId": "i",
    })
}

/// Answers with the parts, without and with streaming.
fn answers(parts: &[Part], line_end: &str) -> [Vec<u8>; 2] {
    let whole = parts.iter().enumerate().map(|(index, part)| written(part, index).0).collect();
    let pretty = format!("{:#}", document(whole, Some("STOP")));
    let whole = json_answer(&serde_json::from_str(&pretty).unwrap());
    let pieces = parts.iter().enumerate().flat_map(|(index, part)| written(part, index).1);
    let mut documents: Vec<_> = pieces.map(|piece| document(vec![piece], None)).collect();
    documents.push(document(vec![], Some("STOP")));
    let events: String =
        documents.iter().map(|event| format!("data: {event}{line_end}{line_end}")).collect();
    [whole, events_answer(events)]
}

/// Returns the response without generated ids, which differ.
fn comparable(response: &ChatResponse) -> impl PartialEq + std::fmt::Debug {
    let message = &response.message;
    let own = |text: Option<&str>| text.map(str::to_owned);
    let calls: Vec<_> = message
        .tool_calls()
        .iter()
        .map(|call| {
            let id = Some(call.id().to_owned()).filter(|id| !id.starts_with("gemini-call-"));
            (id, call.name().to_owned(), call.arguments().to_owned())
        })
        .collect();
    let words = message.provider_content().map(|content| content.json().to_owned());
    let texts = (own(message.text()), own(message.thinking()), words);
    (texts, calls, response.finish_reason.clone(), response.usage)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn answer_is_the_same_whole_and_in_pieces(
        parts in prop::collection::vec(part(), 0..6),
        line_end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
    ) {
        let answers = answers(&parts, line_end);
        let [whole, streamed] = whole_and_streamed(answers, |server| client(server).build().unwrap());
        assert_eq!(format!("{:?}", comparable(&whole)), format!("{:?}", comparable(&streamed)));
    }
}
