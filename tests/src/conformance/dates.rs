//! Dates and times in the only form that the reference accepts.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::str::FromStr;

/// A date or time of `chrono`, but with leading zeros: `chrono` itself also reads `2024-5-6`.
#[derive(Clone, Copy, JsonSchema, Serialize)]
#[schemars(transparent)]
#[serde(transparent)]
pub(super) struct Padded<T>(T);

/// A date or time, of which the seconds are optional.
pub(super) trait Form: Sized {
    /// The form up to the minutes.
    const FORM: &'static str;

    fn parse(text: &str) -> Option<Self>;

    /// Returns the value in this [`FORM`](Self::FORM).
    fn form(&self) -> String;
}

impl Form for NaiveDate {
    const FORM: &'static str = "%Y-%m-%d";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn form(&self) -> String {
        self.format(Self::FORM).to_string()
    }
}

impl Form for NaiveTime {
    const FORM: &'static str = "%H:%M";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn form(&self) -> String {
        self.format(Self::FORM).to_string()
    }
}

impl Form for NaiveDateTime {
    const FORM: &'static str = "%Y-%m-%dT%H:%M";

    fn parse(text: &str) -> Option<Self> {
        text.parse().or_else(|_| Self::parse_from_str(text, Self::FORM)).ok()
    }

    fn form(&self) -> String {
        self.format(Self::FORM).to_string()
    }
}

impl<T: Form> FromStr for Padded<T> {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let value = T::parse(text).filter(|value| text.starts_with(&value.form()));
        value.map(Self).ok_or("expected a date or time with leading zeros")
    }
}

impl<T: fmt::Display> fmt::Display for Padded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de, T: Form> Deserialize<'de> for Padded<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.trim().parse().map_err(D::Error::custom)
    }
}
