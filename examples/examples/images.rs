//! Images: in the user message, from bytes and URLs, and in the result of a tool.
//!
//! Runs offline with a scripted model and a generated picture. The media type is detected from the first
//! bytes. The code is the same with a real model.
#![allow(clippy::print_stdout, reason = "examples print their results")]

use ai_services::message::{ChatMessage, Content, ImageContent, ImageDetail, ToolCall};
use ai_services::testing::{ScriptedAnswer, ScriptedChatModel};
use ai_services::{ai_service, tools};

#[ai_service]
trait Inspector {
    /// The template is the text and comes first, then the parameters in the order of their declaration.
    #[user_message("Is there any damage to the {{part}}?")]
    async fn inspect(
        &self,
        #[v] part: &str,
        #[user_message] photo: ImageContent,
        #[user_message] earlier: &[ImageContent],
    ) -> ai_services::Result<String>;

    /// The caller can also mix text and images.
    async fn ask(&self, contents: Vec<Content>) -> ai_services::Result<String>;
}

struct Camera;

#[tools]
impl Camera {
    /// Takes a photo of the part.
    #[tool]
    async fn photograph(&self, part: &str) -> ai_services::Result<Vec<Content>> {
        let photo = ImageContent::bytes(grey_png())?;
        Ok(vec![format!("The {part}, just now:").into(), photo.into()])
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ai_services::Result<()> {
    let photograph = ToolCall::new("call_1", "photograph", r#"{"part":"door"}"#);
    let model = ScriptedChatModel::new([
        ScriptedAnswer::text("A dent on the left."),
        ScriptedAnswer::tool_calls([photograph]),
        ScriptedAnswer::text("It is repaired."),
    ]);
    let inspector = InspectorService::builder().chat_model(model.clone()).tools(Camera).build()?;

    let photo = ImageContent::bytes(grey_png())?.with_detail(ImageDetail::High);
    let earlier = [ImageContent::url("https://example.org/door-2024.jpg")];
    println!("{}", inspector.inspect("door", photo, &earlier).await?);

    let question = vec!["Compare it with this:".into(), earlier[0].clone().into()];
    println!("{}", inspector.ask(question).await?);

    for (number, request) in model.requests().iter().enumerate() {
        for message in request.messages() {
            for content in contents(message) {
                println!("request {number}: {}", describe(content));
            }
        }
    }

    // A file that is not an image is rejected before a request is sent.
    let not_an_image = ImageContent::file(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).await;
    println!("{}", not_an_image.map_or_else(|error| error.to_string(), |_| "an image".to_owned()));
    model.check_finished()
}

fn contents(message: &ChatMessage) -> &[Content] {
    match message {
        ChatMessage::User(message) => message.contents(),
        ChatMessage::ToolResult(result) => result.contents(),
        _ => &[],
    }
}

fn describe(content: &Content) -> String {
    match content {
        Content::Text(text) => format!("text   {text}"),
        Content::Image(image) => format!("image  {:?}, {:?}", image.detail(), image.media()),
        other => format!("other  {other:?}"),
    }
}

/// Returns a PNG with one grey pixel.
fn grey_png() -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut png, b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]);
    // A zlib stream with one stored block: filter type 0, then the pixel.
    chunk(&mut png, b"IDAT", &[0x78, 0x01, 1, 2, 0, 0xFD, 0xFF, 0, 0x80, 0, 0x82, 0, 0x81]);
    chunk(&mut png, b"IEND", &[]);
    png
}

/// Appends a chunk: length, name, data, and a checksum of name and data.
fn chunk(png: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    png.extend_from_slice(&u32::try_from(data.len()).unwrap_or_default().to_be_bytes());
    let start = png.len();
    png.extend_from_slice(name);
    png.extend_from_slice(data);
    let checksum = png.iter().skip(start).fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 }
        })
    });
    png.extend_from_slice(&(!checksum).to_be_bytes());
}
