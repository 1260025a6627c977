//! Moderation.

use super::CANARY;
use ai_services::ErrorKind;
use ai_services::message::{AudioContent, Content, ImageContent, Media, UserMessage};
use ai_services::model::{Moderation, ModerationModel};
use ai_services::providers::openai::{OpenAiModerationModel, OpenAiModerationModelBuilder};
use ai_services_tests::PATIENCE;
use ai_services_tests::fault_server::{FaultServer, answer, json_answer};
use serde_json::{Value, json};

fn client(server: &FaultServer) -> OpenAiModerationModelBuilder {
    OpenAiModerationModel::builder()
        .api_key(CANARY)
        .base_url(server.url())
        .max_retries(0)
        .timeout(PATIENCE)
}

fn passed() -> Vec<u8> {
    json_answer(&json!({ "results": [{ "flagged": false, "categories": { "hate": false } }] }))
}

fn flagged() -> Vec<u8> {
    let verdict = json!({ "flagged": true, "categories": { "violence": true },
        "category_scores": { "violence": 0.8 } });
    json_answer(&json!({ "results": [verdict] }))
}

async fn read(body: Value) -> ai_services::Result<Moderation> {
    let server = FaultServer::answering([json_answer(&body)]).await.unwrap();
    client(&server).build()?.moderate("x").await
}

/// Returns the request for a message, and the verdict.
async fn judged(
    contents: impl IntoIterator<Item = Content>,
    answers: impl IntoIterator<Item = Vec<u8>>,
) -> (Vec<Value>, Moderation) {
    let server = FaultServer::answering(answers).await.unwrap();
    let model = client(&server).build().unwrap();
    let message = UserMessage::from_contents(contents);
    let verdict = model.moderate_message(&message).await.unwrap();
    let requests = server.requests();
    let inputs = requests.iter().map(|request| request.json()["input"].clone()).collect();
    (inputs, verdict)
}

#[tokio::test]
async fn text_is_sent() {
    let server = FaultServer::answering([passed()]).await.unwrap();
    let model = client(&server).project("p").build().unwrap();
    assert_eq!(model.name(), "omni-moderation-latest");
    assert_eq!(model.moderate("Hi \"you\"").await.unwrap(), Moderation::passed());
    let request = server.requests().remove(0);
    assert!(request.head.starts_with("POST /v1/moderations HTTP/1.1\r\n"));
    assert_eq!(request.header("openai-project"), Some("p"));
    let expected = json!({ "model": "omni-moderation-latest", "input": "Hi \"you\"" });
    assert_eq!(request.json(), expected);
}

#[tokio::test]
async fn texts_and_images_of_a_message_are_checked() {
    let image = |url: &str| json!({ "type": "image_url", "image_url": { "url": url } });
    let text = json!({ "type": "text", "text": "a\nb" });
    let contents = || {
        [
            Content::from("a"),
            Content::image_url("https://a.example/1.png"),
            Content::from("b"),
            ImageContent::base64("iVBO", "image/png").into(),
            AudioContent::base64("UklG", "audio/wav").into(),
        ]
    };
    let (inputs, verdict) = judged(contents(), [passed(), flagged()]).await;
    let expected = [
        json!([text, image("https://a.example/1.png")]),
        json!([image("data:image/png;base64,iVBO")]),
    ];
    assert_eq!(inputs, expected);
    assert_eq!(verdict, Moderation::flagged([("violence", 0.8)]));
    // Nothing is sent after a verdict that flags the content.
    let (inputs, verdict) = judged(contents(), [flagged()]).await;
    assert_eq!((inputs.len(), verdict.is_flagged()), (1, true));
}

#[tokio::test]
async fn texts_alone_are_checked_in_one_piece() {
    let (inputs, _) = judged(["a", "b"].map(Content::from), [passed()]).await;
    assert_eq!(inputs, [json!("a\nb")]);
    let nothing = [AudioContent::base64("UklG", "audio/wav").into(), Content::from("")];
    let (inputs, verdict) = judged(nothing, []).await;
    assert_eq!((inputs.len(), verdict), (0, Moderation::passed()));
}

#[tokio::test]
async fn text_only_model_checks_no_images() {
    let server = FaultServer::answering([passed()]).await.unwrap();
    let model = client(&server).model("text-moderation-latest").build().unwrap();
    let look = [Content::from("a"), Content::image_url("https://a.example/1.png")];
    model.moderate_message(&UserMessage::from_contents(look)).await.unwrap();
    let expected = json!({ "model": "text-moderation-latest", "input": "a" });
    assert_eq!(server.requests()[0].json(), expected);
}

#[tokio::test]
async fn image_that_cannot_be_sent_is_an_error() {
    let server = FaultServer::answering([]).await.unwrap();
    let mut media = Media::base64("iVBO", "image/png");
    media.media_type = None;
    let image = ImageContent::new(media);
    let message = UserMessage::from_contents([image.into()]);
    let error = client(&server).build().unwrap().moderate_message(&message).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn violated_categories_have_their_scores() {
    let verdicts = json!({ "id": "m", "model": "omni", "results": [
        {
            "flagged": true,
            "categories": { "hate": true, "hate/threatening": false, "illicit": null, "sexual": true },
            "category_scores": { "hate": 0.7, "hate/threatening": 0.4, "illicit": null },
            "category_applied_input_types": { "hate": ["text"] },
        },
        { "flagged": true, "categories": { "hate": true }, "category_scores": { "hate": 0.9 } },
    ] });
    let expected = Moderation::flagged([("hate", 0.9), ("sexual", 1.0)]);
    assert_eq!(read(verdicts).await.unwrap(), expected);
}

#[tokio::test]
async fn partial_verdict_is_read() {
    let bare = json!({ "results": [{ "flagged": true }] });
    assert_eq!(read(bare).await.unwrap(), Moderation::flagged([("unspecified", 1.0)]));
    let unflagged = json!({ "results": [{ "categories": { "hate": true } }] });
    assert_eq!(read(unflagged).await.unwrap(), Moderation::flagged([("hate", 1.0)]));
}

#[tokio::test]
async fn invalid_verdict_is_an_error() {
    for body in [json!({}), json!({ "results": [] }), json!({ "results": [{}] }), json!([])] {
        let error = read(body.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{body}: {error}");
    }
    let body = json!({ "error": { "message": format!("bad key {CANARY}") } }).to_string();
    let server = FaultServer::answering([answer(401, &[], body)]).await.unwrap();
    let model = client(&server).build().unwrap();
    let error = model.moderate("x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Authentication);
    let printed = format!("{error:?} {error} {model:?} {:?}", client(&server));
    assert!(!printed.contains("canary"), "{printed}");
}

#[test]
fn missing_key_is_a_configuration_error() {
    let openai = OpenAiModerationModel::builder().base_url("https://api.openai.com/v1");
    let error = openai.build().unwrap_err();
    assert!(error.to_string().contains("OPENAI_API_KEY"), "{error}");
}
