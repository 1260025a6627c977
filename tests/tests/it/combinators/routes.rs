//! Routing among models.

use super::{asking, streamed, text};
use ai_services::ErrorKind;
use ai_services::combinators::{RouterModel, RouterModelBuilder};
use ai_services::model::{Capabilities, Capability, ChatModel, ChatRequest};
use ai_services::testing::ScriptedChatModel;

fn models() -> RouterModelBuilder {
    RouterModel::builder()
        .model("small", ScriptedChatModel::replies(["small"]))
        .model("large", ScriptedChatModel::replies(["large"]))
}

/// Returns the first word of the first message, as the name of the model.
fn first_word(request: &ChatRequest) -> String {
    let text = request.messages().find_map(|message| message.text()).unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn request_is_sent_to_the_chosen_model() {
    let model = models().route(first_word).build().unwrap();
    let response = model.chat(&asking("large please")).await.unwrap();
    assert_eq!((text(&response), response.model.as_deref()), ("large", Some("scripted")));
    let (texts, outcome) = streamed(&model, &asking("small please")).await;
    assert_eq!((texts.concat().as_str(), text(&outcome.unwrap())), ("small", "small"));
}

#[tokio::test]
async fn error_of_an_unknown_name_lists_known_names() {
    let model = models().route(first_word).build().unwrap();
    let error = model.chat(&asking("huge")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert_eq!(
        error.to_string(),
        "the route chose the unknown model `huge`; the router has `small`, `large`"
    );
    let (_, outcome) = streamed(&model, &asking("huge")).await;
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Configuration);
}

#[test]
fn incomplete_or_ambiguous_router_is_an_error() {
    let message = |builder: RouterModelBuilder| builder.build().unwrap_err().to_string();
    assert!(message(RouterModel::builder().route(|_| "x")).contains("no models"));
    assert!(message(models()).contains("no route"));
    let twice = models().model("small", ScriptedChatModel::replies(["x"])).route(|_| "small");
    assert_eq!(message(twice), "the router has two models named `small`");
}

#[test]
fn capabilities_and_name_can_be_set() {
    let tools = Capabilities::of([Capability::Tools]);
    let model = models().route(|_| "small").capabilities(tools).name("mine").build().unwrap();
    assert_eq!((model.capabilities(), model.name()), (tools, "mine"));
}
