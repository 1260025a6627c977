//! Images and other media in user messages, tool results and memories.

use ai_services::memory::{
    ApproximateCounter, MemoryId, MessageWindowChatMemory, TokenWindowChatMemory,
};
use ai_services::message::{
    AudioContent, ChatMessage, Content, ImageContent, PdfContent, ToContents, ToolCall,
    UserMessage, VideoContent,
};
use ai_services::model::{Moderation, ModerationModel};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::tool::ToolError;
use ai_services::{ErrorKind, ai_service, async_trait, tool, tools};
use std::borrow::Cow;
use std::fmt::{self, Display};
use std::sync::{Arc, Mutex};

/// Implements both `Display` and `ToContents`. The contents take precedence.
struct Photo(&'static str);

impl Display for Photo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not sent")
    }
}

impl ToContents for Photo {
    fn append_to(&self, contents: &mut Vec<Content>) {
        contents.extend([Content::from(self.0), Content::image_url(self.0)]);
    }
}

#[ai_service]
trait Viewer {
    async fn only(&self, image: ImageContent) -> ai_services::Result<String>;

    async fn text_first(
        &self,
        #[user_message] text: &str,
        #[user_message] image: ImageContent,
    ) -> ai_services::Result<String>;

    async fn text_last(
        &self,
        #[user_message] image: &ImageContent,
        #[user_message] text: String,
    ) -> ai_services::Result<String>;

    async fn text_between(
        &self,
        #[user_message] first: Content,
        #[user_message] text: Cow<'_, str>,
        #[user_message] second: &Content,
    ) -> ai_services::Result<String>;

    #[user_message("What is on page {{page}}?")]
    async fn template(
        &self,
        #[user_message] paper: PdfContent,
        #[v] page: u8,
        #[user_message] sound: &AudioContent,
    ) -> ai_services::Result<String>;

    #[user_message("Compare these.")]
    async fn lists(
        &self,
        #[user_message] list: Vec<ImageContent>,
        #[user_message] slice: &[Content],
        #[user_message] option: Option<VideoContent>,
        #[user_message] nested: Option<&Vec<Arc<ImageContent>>>,
    ) -> ai_services::Result<String>;

    async fn own(&self, photo: &Photo) -> ai_services::Result<String>;

    async fn optional(&self, image: Option<ImageContent>) -> ai_services::Result<String>;

    async fn with_memory(
        &self,
        #[memory_id] id: u8,
        #[user_name] name: &str,
        #[user_message] contents: &[Content],
    ) -> ai_services::Result<String>;
}

fn image(name: &str) -> ImageContent {
    ImageContent::url(format!("https://example.org/{name}.png"))
}

fn viewer(model: &ScriptedChatModel) -> ViewerService {
    ViewerService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(20).build()
        })
        .build()
        .unwrap()
}

/// Returns the parts of the only message of a request.
fn sent(model: &ScriptedChatModel, request: usize) -> Vec<Content> {
    match model.messages_of(request).as_slice() {
        [ChatMessage::User(message)] => message.contents().to_vec(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn parts_are_sent_in_declaration_order() {
    let model = ScriptedChatModel::replies(["ok"; 4]);
    let viewer = viewer(&model);
    viewer.only(image("a")).await.unwrap();
    viewer.text_first("Look:", image("a")).await.unwrap();
    viewer.text_last(&image("a"), "That.".to_owned()).await.unwrap();
    viewer.text_between(image("a").into(), "and".into(), &image("b").into()).await.unwrap();
    let [a, b] = ["a", "b"].map(|name| Content::from(image(name)));
    assert_eq!(sent(&model, 0), std::slice::from_ref(&a));
    assert_eq!(sent(&model, 1), ["Look:".into(), a.clone()]);
    assert_eq!(sent(&model, 2), [a.clone(), "That.".into()]);
    assert_eq!(sent(&model, 3), [a, "and".into(), b]);
}

#[tokio::test]
async fn template_comes_before_the_parts() {
    let model = ScriptedChatModel::replies(["ok"]);
    let paper = PdfContent::bytes(b"%PDF-1.7").unwrap();
    let sound = AudioContent::bytes(b"fLaC\0").unwrap();
    viewer(&model).template(paper.clone(), 3, &sound).await.unwrap();
    let expected = ["What is on page 3?".into(), paper.into(), sound.into()];
    assert_eq!(sent(&model, 0), expected);
}

#[tokio::test]
async fn lists_and_options_are_sent_as_their_parts() {
    let model = ScriptedChatModel::replies(["ok"; 2]);
    let viewer = viewer(&model);
    let video = VideoContent::url("https://example.org/film.mp4");
    let nested = vec![Arc::new(image("c"))];
    let slice = ["then".into(), Content::from(image("b"))];
    viewer
        .lists(vec![image("a"), image("b")], &slice, Some(video.clone()), Some(&nested))
        .await
        .unwrap();
    let text = Content::from("Compare these.");
    let images = ["a", "b", "b", "c"].map(|name| Content::from(image(name)));
    let [first, second, third, fourth] = images;
    let all = [text.clone(), first, second, "then".into(), third, Content::from(video), fourth];
    assert_eq!(sent(&model, 0), all);
    viewer.lists(Vec::new(), &[], None, None).await.unwrap();
    assert_eq!(sent(&model, 1), [text]);
}

#[tokio::test]
async fn custom_type_is_sent_as_its_contents() {
    let model = ScriptedChatModel::replies(["ok"]);
    viewer(&model).own(&Photo("cat")).await.unwrap();
    assert_eq!(sent(&model, 0), ["cat".into(), Content::image_url("cat")]);
}

#[tokio::test]
async fn message_without_parts_is_an_error() {
    let model = ScriptedChatModel::replies(["ok"]);
    let viewer = viewer(&model);
    let error = viewer.optional(None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Prompt);
    assert_eq!(
        error.to_string(),
        "the user message of method `optional` is empty: it has neither text nor content"
    );
    viewer.optional(Some(image("a"))).await.unwrap();
    assert_eq!(sent(&model, 0), [image("a").into()]);
}

#[tokio::test]
async fn contents_are_stored_unchanged() {
    let model = ScriptedChatModel::replies(["A cat.", "Black."]);
    let viewer = viewer(&model);
    let first = [Content::from(image("cat")), "What is this?".into()];
    viewer.with_memory(1, "Klaus", &first).await.unwrap();
    viewer.with_memory(1, "Klaus", &["Its colour?".into()]).await.unwrap();
    let messages = [
        UserMessage::from_contents(first).with_name("Klaus").into(),
        ChatMessage::ai("A cat."),
        UserMessage::new("Its colour?").with_name("Klaus").into(),
    ];
    assert_eq!(model.messages_of(1), messages);
}

#[tokio::test]
async fn token_window_evicts_images_by_their_token_count() {
    let model = ScriptedChatModel::replies(["one", "two", "three"]);
    let viewer = ViewerService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(|id: &MemoryId| {
            TokenWindowChatMemory::builder().id(id).max_tokens(2_100, ApproximateCounter).build()
        })
        .build()
        .unwrap();
    for name in ["a", "b", "c"] {
        viewer.with_memory(1, "K", &[image(name).into()]).await.unwrap();
    }
    let images = |request| {
        let messages = model.messages_of(request);
        messages.iter().filter(|message| message.is_user()).count()
    };
    // An image is estimated at 1,000 tokens.
    assert_eq!([images(0), images(1), images(2)], [1, 2, 2]);
}

struct RecordingModeration(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl ModerationModel for RecordingModeration {
    async fn moderate(&self, text: &str) -> ai_services::Result<Moderation> {
        self.0.lock().unwrap().push(text.to_owned());
        Ok(Moderation::default())
    }
}

#[ai_service]
trait Moderated {
    #[moderate]
    #[user_message("About {{topic}}:")]
    async fn ask(
        &self,
        #[v] topic: &str,
        #[user_message] contents: Vec<Content>,
    ) -> ai_services::Result<String>;
}

#[tokio::test]
async fn only_texts_are_moderated() {
    let judged = Arc::default();
    let service = ModeratedService::builder()
        .chat_model(ScriptedChatModel::replies(["ok"]))
        .moderation_model(RecordingModeration(Arc::clone(&judged)))
        .build()
        .unwrap();
    service.ask("cats", vec![image("cat").into(), "This one.".into()]).await.unwrap();
    assert_eq!(*judged.lock().unwrap(), ["About cats:\nThis one."]);
}

struct Camera;

#[tools]
impl Camera {
    /// One image.
    #[tool]
    fn one(&self) -> ImageContent {
        image("one")
    }

    /// Text and image.
    #[tool]
    async fn both(&self) -> Vec<Content> {
        vec!["Front:".into(), image("both").into()]
    }

    /// Images, if it is not dark.
    #[tool]
    fn fallible(&self, dark: bool) -> Result<[ImageContent; 2], ToolError> {
        if dark {
            return Err(ToolError::new("it is dark"));
        }
        Ok([image("left"), image("right")])
    }

    /// An image, if there is one.
    #[tool]
    async fn optional(&self) -> Option<Content> {
        None
    }

    /// Bytes, returned as JSON.
    #[tool]
    fn json(&self) -> Result<Vec<u8>, ToolError> {
        Ok(vec![1, 2])
    }

    /// A borrowed text.
    #[tool]
    fn text(&self) -> &'static str {
        "text"
    }
}

/// A photo from a free function.
#[tool]
async fn photo() -> ai_services::Result<Content> {
    Ok(image("photo").into())
}

#[tokio::test]
async fn contents_of_tools_are_not_converted_to_json() {
    let call = |name: &str, arguments: &str| ToolCall::new(name, name, arguments);
    let model = ScriptedChatModel::new([
        ScriptedAnswer::tool_calls([
            call("one", "{}"),
            call("both", "{}"),
            call("fallible", r#"{"dark":false}"#),
            ToolCall::new("dark", "fallible", r#"{"dark":true}"#),
            call("optional", "{}"),
            call("json", "{}"),
            call("text", "{}"),
            call("photo", "{}"),
        ]),
        ScriptedAnswer::text("ok"),
    ]);
    let viewer = ViewerService::builder()
        .chat_model(model.clone())
        .chat_memory_provider(|id: &MemoryId| {
            MessageWindowChatMemory::builder().id(id).max_messages(20).build()
        })
        .tools(Camera)
        .tools(photo::tool())
        .build()
        .unwrap();
    viewer.only(image("a")).await.unwrap();
    let messages = model.messages_of(1);
    let results = messages.iter().filter_map(|message| match message {
        ChatMessage::ToolResult(result) => Some(result),
        _ => None,
    });
    let results: Vec<(&str, Vec<Content>)> =
        results.map(|result| (result.id(), result.contents().to_vec())).collect();
    let images = |names: &[&str]| names.iter().map(|name| image(name).into()).collect();
    let expected: [(&str, Vec<Content>); 8] = [
        ("one", images(&["one"])),
        ("both", vec!["Front:".into(), image("both").into()]),
        ("fallible", images(&["left", "right"])),
        ("dark", vec!["it is dark".into()]),
        ("optional", vec!["".into()]),
        ("json", vec!["[1,2]".into()]),
        ("text", vec!["text".into()]),
        ("photo", images(&["photo"])),
    ];
    assert_eq!(results, expected);
}
