//! The date and time in prompts.

use crate::error::{Error, Result};
use jiff::civil::DateTime;
use std::fmt;

/// The source of the date and time for `{{current_date}}`, `{{current_time}}` and
/// `{{current_date_time}}`.
///
/// Default of services: [`SystemClock`].
pub trait Clock: Send + Sync {
    /// Returns the current time, in the time zone for prompts.
    fn now(&self) -> LocalDateTime;
}

/// The system clock in the system's time zone.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> LocalDateTime {
        LocalDateTime(jiff::Zoned::now().datetime())
    }
}

impl<F: Fn() -> LocalDateTime + Send + Sync> Clock for F {
    fn now(&self) -> LocalDateTime {
        self()
    }
}

/// A date and a time of day without a zone.
///
/// # Examples
///
/// ```
/// use ai_services::prompt::LocalDateTime;
///
/// let time: LocalDateTime = "2026-02-28T09:05".parse()?;
/// assert_eq!(time.to_string(), "2026-02-28T09:05");
/// # Ok::<(), ai_services::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalDateTime(DateTime);

impl std::str::FromStr for LocalDateTime {
    type Err = Error;

    /// Parses an ISO 8601 date and time, for example `2026-02-28T09:05:07.120`.
    fn from_str(text: &str) -> Result<Self> {
        text.parse().map(Self).map_err(|source| {
            Error::configuration(format!("`{text}` is not an ISO 8601 date and time"))
                .with_source(source)
        })
    }
}

impl fmt::Display for LocalDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}T", self.0.date())?;
        self.write_time(f)
    }
}

impl LocalDateTime {
    /// Writes the time as `09:05`, `09:05:07` or `09:05:07.120`: seconds only if they are not zero,
    /// fractions in groups of three digits.
    fn write_time(&self, f: &mut impl fmt::Write) -> fmt::Result {
        let time = self.0.time();
        let nanosecond = time.subsec_nanosecond();
        write!(f, "{:02}:{:02}", time.hour(), time.minute())?;
        if time.second() == 0 && nanosecond == 0 {
            return Ok(());
        }
        write!(f, ":{:02}", time.second())?;
        match nanosecond {
            0 => Ok(()),
            n if n % 1_000_000 == 0 => write!(f, ".{:03}", n / 1_000_000),
            n if n % 1_000 == 0 => write!(f, ".{:06}", n / 1_000),
            n => write!(f, ".{n:09}"),
        }
    }
}

/// A built-in template variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuiltIn {
    Date,
    Time,
    DateTime,
}

impl BuiltIn {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "current_date" => Some(Self::Date),
            "current_time" => Some(Self::Time),
            "current_date_time" => Some(Self::DateTime),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Date => "current_date",
            Self::Time => "current_time",
            Self::DateTime => "current_date_time",
        }
    }

    pub(crate) fn write(self, now: &LocalDateTime, out: &mut String) -> fmt::Result {
        use fmt::Write;
        match self {
            Self::Date => write!(out, "{}", now.0.date()),
            Self::Time => now.write_time(out),
            Self::DateTime => write!(out, "{now}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_ins_are_iso_without_trailing_zeros() {
        let written = |time: &str, variable: BuiltIn| {
            let mut out = String::new();
            variable.write(&time.parse().unwrap(), &mut out).unwrap();
            out
        };
        assert_eq!(written("2024-02-29T00:00:00", BuiltIn::Date), "2024-02-29");
        assert_eq!(written("2024-02-29T00:00:00", BuiltIn::Time), "00:00");
        assert_eq!(written("2025-01-01T09:05:07", BuiltIn::Time), "09:05:07");
        assert_eq!(written("2025-01-01T09:05:07.12", BuiltIn::DateTime), "2025-01-01T09:05:07.120");
        assert_eq!(written("2025-01-01T09:05:00.00012", BuiltIn::Time), "09:05:00.000120");
    }
}
