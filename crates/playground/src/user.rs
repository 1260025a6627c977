//! The user of a request, as the page names it.

use ai_services_core::{Error, ErrorKind, InvocationContext, Result};
use ai_services_serve::Principal;
use http::request::Parts;
use std::sync::Arc;

/// The request header with the name of the user, percent-encoded.
const USER: &str = "x-playground-user";
/// The request header with the id of the turn that the new one repeats.
const PARENT: &str = "x-playground-parent";

/// The request header of a request for the calls that wait, instead of a new turn.
const PENDING: &str = "x-playground-pending";

/// The id of the turn that a turn repeats.
pub(crate) struct Parent(pub(crate) Arc<str>);

/// The mark of a request for the calls of an open turn that wait.
pub(crate) struct AsksForPendingTurn;

/// Returns the user of a request. The token has authenticated the request.
pub(crate) fn principal(request: &Parts) -> Result<Principal> {
    let header = |name| request.headers.get(name).and_then(|value| value.to_str().ok());
    let user = header(USER).and_then(percent_decoded).ok_or_else(|| {
        Error::new(ErrorKind::Authentication, format!("the header `{USER}` is missing or invalid"))
    })?;
    let context = InvocationContext::new();
    let context = match header(PARENT) {
        Some(id) => context.with(Parent(id.into())),
        None => context,
    };
    let context = match header(PENDING) {
        Some(_) => context.with(AsksForPendingTurn),
        None => context,
    };
    Ok(Principal::new(user).with_context(context))
}

/// Decodes `%XX`. Returns `None` if the text is malformed.
fn percent_decoded(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        let (code, rest) = piece.split_at_checked(2)?;
        if !code.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_percent_decoded() {
        for (text, name) in [
            ("ann", Some("ann")),
            ("J%C3%BCrgen%20B", Some("Jürgen B")),
            ("100%25", Some("100%")),
            ("", Some("")),
            ("%", None),
            ("%4", None),
            ("%+1", None),
            ("%FF", None),
        ] {
            assert_eq!(percent_decoded(text).as_deref(), name, "{text}");
        }
    }
}
