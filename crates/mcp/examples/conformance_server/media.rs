//! Media without contents.

use ai_services::message::ImageContent;

/// A red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A recording without samples.
pub(crate) const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
/// An empty document.
pub(crate) const PDF: &str = "JVBERi0xLjcK";

/// Returns an image.
pub(crate) fn image() -> ImageContent {
    ImageContent::base64(PNG, "image/png")
}
