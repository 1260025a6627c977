//! The redirect at the end of a consent.

use super::failure::refused;
use crate::clean::clean_text;
use ai_services_core::Result;
use reqwest::Url;

/// Most characters of the error of an authorization server.
const MAX_REASON: usize = 300;

/// The parameters of a redirect that belongs to a request.
pub(super) struct Redirect {
    pub(super) code: String,
    pub(super) issuer: Option<String>,
}

/// Reads the URL that the browser was redirected to.
///
/// # Errors
///
/// Fails if it has another `state` than the request, or an error instead of a code.
pub(super) fn read(redirect: &str, state: &str) -> Result<Redirect> {
    let url = Url::parse(redirect.trim()).map_err(|_| refused("the redirect is not a URL"))?;
    if parameter(&url, "state")?.as_deref() != Some(state) {
        return Err(refused("the redirect has another state than the request"));
    }
    if let Some(error) = parameter(&url, "error")? {
        let description = parameter(&url, "error_description")?.unwrap_or_default();
        let reason = clean_text(&format!("{error} {description}"), MAX_REASON);
        return Err(refused(format!("the authorization server answered: {reason}")));
    }
    let Some(code) = parameter(&url, "code")? else {
        return Err(refused("the redirect has no code"));
    };
    Ok(Redirect { code, issuer: parameter(&url, "iss")? })
}

/// Returns the value of a parameter, which may occur once.
pub(super) fn parameter(url: &Url, name: &str) -> Result<Option<String>> {
    let mut values = url.query_pairs().filter(|(key, _)| key == name);
    let value = values.next().map(|(_, value)| value.into_owned());
    if values.next().is_some() {
        return Err(refused(format!("the parameter `{name}` occurs twice in a redirect")));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REDIRECT: &str = "http://127.0.0.1:1/callback";

    fn reason(query: &str) -> String {
        read(&format!("{REDIRECT}?{query}"), "s1").err().unwrap().to_string()
    }

    #[test]
    fn redirect_returns_code_and_issuer() {
        let redirect = read(&format!("{REDIRECT}?code=c&state=s1&iss=https%3A%2F%2Fa"), "s1");
        let redirect = redirect.unwrap();
        assert_eq!((redirect.code.as_str(), redirect.issuer.as_deref()), ("c", Some("https://a")));
    }

    #[test]
    fn redirect_of_another_request_is_refused() {
        assert_eq!(reason("code=c&state=s2"), "the redirect has another state than the request");
        assert_eq!(reason("code=c"), "the redirect has another state than the request");
        assert_eq!(
            reason("code=c&state=s1&state=s2"),
            "the parameter `state` occurs twice in a redirect"
        );
    }

    #[test]
    fn redirect_with_an_error_is_refused_with_its_text() {
        let reason = reason("error=access_denied&error_description=no%1b[31m+thanks&state=s1");
        assert_eq!(reason, "the authorization server answered: access_denied no thanks");
    }

    #[test]
    fn redirect_without_a_code_is_refused() {
        assert_eq!(reason("state=s1"), "the redirect has no code");
    }
}
