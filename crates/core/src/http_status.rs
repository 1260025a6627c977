//! The kinds of errors, and their HTTP statuses.

use crate::ErrorKind;

impl ErrorKind {
    /// All kinds.
    #[doc(hidden)]
    pub const ALL: [Self; 23] = [
        Self::Configuration,
        Self::Prompt,
        Self::Media,
        Self::InvalidRequest,
        Self::Authentication,
        Self::RateLimited,
        Self::Unavailable,
        Self::Connection,
        Self::Timeout,
        Self::InvalidResponse,
        Self::Refused,
        Self::Unsupported,
        Self::Tool,
        Self::LimitExceeded,
        Self::TurnTooLarge,
        Self::Output,
        Self::Store,
        Self::Conflict,
        Self::Busy,
        Self::UnknownOutcome,
        Self::Suspended,
        Self::Moderation,
        Self::Guardrail,
    ];

    /// Returns the HTTP status with which a web server answers after an error of this kind.
    ///
    /// A default for servers whose requests call an AI service. The provider's own status is
    /// [`Error::status`](crate::Error::status): a wrong API key is a mistake of the server, not of its user,
    /// so its status 401 must not be passed on. For 503, send
    /// [`Error::retry_after`](crate::Error::retry_after) as `Retry-After`.
    ///
    /// | kind | status | reason |
    /// |---|---|---|
    /// | `Configuration`, `Prompt`, `Unsupported`, `InvalidRequest`, `Authentication` | 500 | the application is wrong |
    /// | `Tool`, `LimitExceeded`, `Store` | 500 | a part of the application failed |
    /// | `InvalidResponse`, `Output`, `Connection` | 502 | the provider did not answer correctly |
    /// | `RateLimited`, `Unavailable` | 503 | the provider cannot answer now |
    /// | `Timeout`, `UnknownOutcome` | 504 | the provider, a store or a part of the application did not answer in time |
    /// | `Suspended` | 202 | the turn waits for a decision |
    /// | `Media` | 400 | the user sent an unreadable file |
    /// | `TurnTooLarge` | 413 | the user's message is too large for the memory |
    /// | `Conflict`, `Busy` | 409 | the user sent two messages at once |
    /// | `Refused`, `Moderation`, `Guardrail` | 422 | the message, or its answer, is not acceptable |
    ///
    /// # Examples
    ///
    /// ```
    /// use ai_services::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::RateLimited, "too many requests").with_status(429);
    /// assert_eq!(error.kind().http_status(), 503);
    /// ```
    #[must_use]
    pub fn http_status(self) -> u16 {
        match self {
            Self::Suspended => 202,
            Self::Media => 400,
            Self::Conflict | Self::Busy => 409,
            Self::TurnTooLarge => 413,
            Self::Refused | Self::Moderation | Self::Guardrail => 422,
            Self::Configuration
            | Self::Prompt
            | Self::InvalidRequest
            | Self::Authentication
            | Self::Unsupported
            | Self::Tool
            | Self::LimitExceeded
            | Self::Store => 500,
            Self::Connection | Self::InvalidResponse | Self::Output => 502,
            Self::RateLimited | Self::Unavailable => 503,
            Self::Timeout | Self::UnknownOutcome => 504,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Returns the statuses of the table by kind.
    fn documented() -> BTreeMap<&'static str, u16> {
        let rows = include_str!("http_status.rs").lines().filter_map(|line| {
            let cells: Vec<_> = line.trim().strip_prefix("/// |")?.split('|').collect();
            Some((*cells.first()?, cells.get(1)?.trim().parse().ok()?))
        });
        let kinds = |(kinds, status): (&'static str, u16)| {
            kinds.split(',').map(move |kind| (kind.trim().trim_matches('`'), status))
        };
        rows.flat_map(kinds).collect()
    }

    #[test]
    fn table_has_the_status_of_every_kind() {
        let statuses = ErrorKind::ALL.map(|kind| (format!("{kind:?}"), kind.http_status()));
        let documented = documented().into_iter().map(|(kind, status)| (kind.to_owned(), status));
        assert_eq!(documented.collect::<BTreeMap<_, _>>(), BTreeMap::from(statuses));
    }

    #[test]
    fn all_kinds_are_listed() {
        let source = include_str!("error.rs").split_once("pub enum ErrorKind {").unwrap().1;
        let variants = source.split_once('}').unwrap().0.lines().map(str::trim);
        let variants = variants.filter(|line| line.ends_with(',') && !line.starts_with('/'));
        assert_eq!(variants.count(), ErrorKind::ALL.len());
    }
}
