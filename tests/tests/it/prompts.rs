//! The messages and parameters that a method sends.

use ai_services::message::{ChatMessage, UserMessage};
use ai_services::model::ChatRequestParameters;
use ai_services::prompt::LocalDateTime;
use ai_services::testing::ScriptedChatModel;
use ai_services::{ErrorKind, Response, ai_service};
use std::fmt;
use std::sync::Arc;

#[ai_service]
#[system_message("You are a support agent of {{company}}. Today is {{ current_date }}.")]
trait Support {
    async fn chat(
        &self,
        #[v] company: &str,
        #[user_message] text: &str,
    ) -> ai_services::Result<String>;

    #[system_message("Translate to {{language}}.")]
    #[user_message("Text:", "{{it}}")]
    async fn translate(&self, text: &str, #[v] language: &str) -> ai_services::Result<String>;

    #[system_message(file = "prompt_of_windows.txt")]
    #[user_message(r#"{"a":{"b":{"c":{"d":1}} }}"#)]
    async fn windows(&self, name: &str) -> ai_services::Result<String>;

    #[system_message("{{{{literal}}}}")]
    async fn whole(
        &self,
        #[user_name] name: &str,
        #[parameters] parameters: ChatRequestParameters,
        #[user_message] text: String,
    ) -> ai_services::Result<Response<String>>;

    /// A default method that does not call the model.
    fn motto(&self) -> &'static str {
        "miles of smiles"
    }
}

fn support(model: &ScriptedChatModel) -> SupportService {
    SupportService::builder()
        .chat_model(model.clone())
        .clock(|| "2026-01-02T03:04".parse::<LocalDateTime>().unwrap())
        .parameters(ChatRequestParameters::new().temperature(0.5).seed(7))
        .build()
        .unwrap()
}

#[tokio::test]
async fn template_file_is_sent_without_traces_of_the_editor() {
    let model = ScriptedChatModel::replies(["ok"]);
    support(&model).windows("Ann").await.unwrap();
    assert_eq!(
        model.messages_of(0),
        [
            ChatMessage::system("Be brief.\nBe kind to Ann."),
            ChatMessage::user(r#"{"a":{"b":{"c":{"d":1}} }}"#),
        ]
    );
}

#[tokio::test]
async fn values_are_not_rendered_as_templates() {
    let model = ScriptedChatModel::replies(["ok"]);
    let text = "{{company}} {{current_date}} {{{{x}}}}";
    support(&model).chat("{{current_date}}", text).await.unwrap();
    assert_eq!(
        model.messages_of(0),
        [
            ChatMessage::system(
                "You are a support agent of {{current_date}}. Today is 2026-01-02."
            ),
            ChatMessage::user(text),
        ]
    );
}

#[tokio::test]
async fn method_system_message_overrides_that_of_the_trait() {
    let model = ScriptedChatModel::replies(["ok"]);
    support(&model).translate("Hallo", "English").await.unwrap();
    assert_eq!(
        model.messages_of(0),
        [ChatMessage::system("Translate to English."), ChatMessage::user("Text:\nHallo")]
    );
}

#[tokio::test]
async fn name_and_parameters_are_sent() {
    let model = ScriptedChatModel::replies(["ok"]);
    let parameters = ChatRequestParameters::new().temperature(0.9);
    let response = support(&model).whole("Klaus", parameters, "Hi".to_owned()).await.unwrap();
    assert_eq!(response.value, "ok");
    let request = &model.requests()[0];
    assert_eq!(
        request.messages().cloned().collect::<Vec<_>>(),
        [ChatMessage::system("{{literal}}"), UserMessage::new("Hi").with_name("Klaus").into()]
    );
    assert_eq!(request.parameters().temperature, Some(0.9));
    assert_eq!(request.parameters().seed, Some(7));
}

#[tokio::test]
async fn service_is_usable_as_a_trait_object() {
    let model = ScriptedChatModel::replies(["ok"]);
    let shared: Arc<dyn Support> = Arc::new(support(&model));
    assert_eq!(shared.motto(), "miles of smiles");
    assert_eq!(shared.chat("x", "y").await.unwrap(), "ok");
}

#[tokio::test]
async fn system_message_provider_is_the_default() {
    #[ai_service]
    trait Plain {
        async fn chat(&self, text: &str) -> ai_services::Result<String>;
    }
    let model = ScriptedChatModel::replies(["ok"]);
    let plain = PlainService::builder()
        .chat_model(model.clone())
        .system_message_provider(|id| Some(format!("for {id:?}: {{{{x}}}}")))
        .build()
        .unwrap();
    plain.chat("Hi").await.unwrap();
    assert_eq!(model.messages_of(0)[0], ChatMessage::system("for None: {{x}}"));
}

#[derive(Debug)]
struct AppError(ErrorKind);

impl From<ai_services::Error> for AppError {
    fn from(error: ai_services::Error) -> Self {
        Self(error.kind())
    }
}

#[tokio::test]
async fn method_may_have_a_custom_error_type() {
    #[ai_service]
    trait Own {
        async fn chat(&self, text: &str) -> Result<String, AppError>;
    }
    let own = OwnService::builder()
        .chat_model(ScriptedChatModel::replies(Vec::<&str>::new()))
        .build()
        .unwrap();
    assert_eq!(own.chat("Hi").await.unwrap_err().0, ErrorKind::Configuration);
}

#[tokio::test]
async fn value_with_a_failing_display_is_an_error() {
    struct Broken;
    impl fmt::Display for Broken {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            Err(fmt::Error)
        }
    }
    #[ai_service]
    trait Printing {
        #[user_message("{{x}}")]
        async fn chat(&self, #[v] x: Broken) -> ai_services::Result<String>;
    }
    let model = ScriptedChatModel::replies(["never"]);
    let service = PrintingService::builder().chat_model(model.clone()).build().unwrap();
    assert_eq!(service.chat(Broken).await.unwrap_err().kind(), ErrorKind::Prompt);
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn trait_user_message_is_the_default() {
    #[ai_service]
    #[user_message("Review: {{it}}")]
    trait Reviews {
        async fn sentiment(&self, review: &str) -> ai_services::Result<String>;

        #[user_message("Shorten: {{it}}")]
        async fn shorten(&self, review: &str) -> ai_services::Result<String>;

        async fn ask(&self, #[user_message] question: &str) -> ai_services::Result<String>;
    }
    let model = ScriptedChatModel::replies(["1", "2", "3"]);
    let reviews = ReviewsService::builder().chat_model(model.clone()).build().unwrap();
    reviews.sentiment("good").await.unwrap();
    reviews.shorten("long").await.unwrap();
    reviews.ask("why?").await.unwrap();
    let sent: Vec<_> = (0..3).flat_map(|request| model.messages_of(request)).collect();
    assert_eq!(sent, ["Review: good", "Shorten: long", "why?"].map(ChatMessage::user));
}
