//! Contents of messages as content blocks of the protocol.

use ai_services_core::message::{Content, Media, MediaSource};
use rmcp::model::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, Resource, ResourceContents,
};

/// Media type of data of an unknown type.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// Returns the blocks of contents, in order.
pub(super) fn blocks(contents: &[Content]) -> Vec<ContentBlock> {
    contents.iter().enumerate().map(|(index, content)| block(index, content)).collect()
}

/// Returns the block of a content. Media with a URL become a link, which the server does not fetch. A video or PDF
/// becomes an embedded resource.
fn block(index: usize, content: &Content) -> ContentBlock {
    let media = match content {
        Content::Text(text) => return ContentBlock::text(&**text),
        Content::Image(image) => image.media(),
        Content::Audio(audio) => audio.media(),
        Content::Video(video) => video.media(),
        Content::Pdf(pdf) => pdf.media(),
    };
    let media_type = media.media_type().unwrap_or(UNKNOWN_TYPE);
    match (&media.source, content) {
        (MediaSource::Url(url), _) => ContentBlock::ResourceLink(link(url, media)),
        (MediaSource::Base64(data), Content::Image(_)) => {
            ContentBlock::Image(ImageContent::new(&**data, media_type))
        }
        (MediaSource::Base64(data), Content::Audio(_)) => {
            ContentBlock::Audio(AudioContent::new(&**data, media_type))
        }
        (MediaSource::Base64(data), _) => {
            let uri = format!("urn:content:{index}");
            let contents = ResourceContents::blob(&**data, uri).with_mime_type(media_type);
            ContentBlock::Resource(EmbeddedResource::new(contents))
        }
    }
}

fn link(url: &str, media: &Media) -> Resource {
    let name = url.rsplit('/').find(|part| !part.is_empty()).unwrap_or(url);
    let link = Resource::new(url, name);
    match media.media_type() {
        Some(media_type) => link.with_mime_type(media_type),
        None => link,
    }
}

/// Returns the contents of the resource `uri`. `text_type` is the media type of texts.
pub(super) fn resource_contents(
    contents: &[Content],
    uri: &str,
    text_type: &str,
) -> Vec<ResourceContents> {
    let convert = |content: &Content| match (content, content.media()) {
        (Content::Text(text), _) => ResourceContents::text(&**text, uri).with_mime_type(text_type),
        (_, Some(media)) => of_media(media, uri),
        (_, None) => ResourceContents::text("", uri),
    };
    contents.iter().map(convert).collect()
}

fn of_media(media: &Media, uri: &str) -> ResourceContents {
    match &media.source {
        MediaSource::Url(url) => {
            ResourceContents::text(&**url, uri).with_mime_type("text/uri-list")
        }
        MediaSource::Base64(data) => {
            let media_type = media.media_type().unwrap_or(UNKNOWN_TYPE);
            ResourceContents::blob(&**data, uri).with_mime_type(media_type)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ai_services_core::message::PdfContent;
    use serde_json::json;

    fn wire(content: Content) -> serde_json::Value {
        serde_json::to_value(blocks(&["text".into(), content])).unwrap()[1].clone()
    }

    #[test]
    fn media_with_a_url_become_a_link() {
        assert_eq!(
            wire(Content::image_url("https://example.org/photos/door.jpg")),
            json!({
                "type": "resource_link",
                "uri": "https://example.org/photos/door.jpg",
                "name": "door.jpg",
            })
        );
    }

    #[test]
    fn pdf_becomes_an_embedded_resource() {
        let pdf = PdfContent::base64("JVBERg==", "application/pdf");
        assert_eq!(
            wire(pdf.into()),
            json!({
                "type": "resource",
                "resource": { "uri": "urn:content:1", "mimeType": "application/pdf", "blob": "JVBERg==" },
            })
        );
    }
}
