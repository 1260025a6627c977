//! The page: HTML, style and script, embedded into the program.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};

pub(crate) const HTML: &str = include_str!("page/index.html");
pub(crate) const STYLE: &str = include_str!("page/style.css");
/// The parts of the script, in their order.
pub(crate) const SCRIPT: &str = concat!(
    include_str!("page/dom.js"),
    include_str!("page/markdown.js"),
    include_str!("page/decisions.js"),
    include_str!("page/chat.js"),
    include_str!("page/inspector.js"),
    include_str!("page/app.js"),
);

pub(crate) async fn html() -> Response {
    asset("text/html; charset=utf-8", HTML)
}

pub(crate) async fn style() -> Response {
    asset("text/css; charset=utf-8", STYLE)
}

pub(crate) async fn script() -> Response {
    asset("text/javascript; charset=utf-8", SCRIPT)
}

fn asset(media_type: &'static str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(media_type))], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_small_and_has_no_foreign_addresses() {
        let size = HTML.len() + STYLE.len() + SCRIPT.len();
        assert!(size <= 100 << 10, "the page has {size} bytes");
        for text in [HTML, STYLE, SCRIPT] {
            let without_names = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!without_names.contains("http://") && !without_names.contains("https://"));
        }
        // Sinks that would make HTML or code of text.
        for sink in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
            assert!(!SCRIPT.contains(sink), "{sink}");
        }
    }
}
