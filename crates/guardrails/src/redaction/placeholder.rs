//! Placeholders for redacted data.

use super::scan::Finding;
use super::{Finder, Redaction};
use crate::steps;
use std::collections::HashMap;
use std::ops::Range;

/// The style of placeholders.
///
/// # Examples
///
/// ```
/// use ai_services::guardrail::{Placeholders, Redaction};
///
/// let redaction = Redaction::all().placeholders(Placeholders::Numbered);
/// let text = "From ann@example.org to bob@example.org, copy to Ann@example.org";
/// assert_eq!(redaction.redact(text), "From [EMAIL_1] to [EMAIL_2], copy to [EMAIL_1]");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placeholders {
    /// The same placeholder for all values of a kind: `[EMAIL]`.
    #[default]
    Plain,
    /// Numbered by value, from 1 in each text or message: `[EMAIL_1]`. Equal values have the same number,
    /// regardless of case and separators where these are insignificant. Numbers of placeholders in the
    /// original text are not reused. The highest number is 999,999; all further values share it.
    Numbered,
}

/// Maximum number of digits. With more, a telephone number could look like a placeholder.
const MAX_DIGITS: usize = 6;
/// The highest number. All further values share it.
const MAX_NUMBER: u64 = 999_999;

/// Writes the placeholders of one text or message.
pub(super) struct Writer<'a> {
    placeholders: Placeholders,
    finders: &'a [Finder],
    numbers: Numbers,
}

/// The numbers that are assigned so far.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// Numbers by finder and value.
    assigned: HashMap<(usize, String), u64>,
    /// The highest number by finder. 0 if missing.
    highest: HashMap<usize, u64>,
}

impl<'a> Writer<'a> {
    /// Creates a writer without assigned numbers. Numbers that occur in the texts are reserved.
    pub(super) fn new<'t>(
        redaction: &'a Redaction,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Self {
        Self::resume(redaction, Numbers::default(), texts)
    }

    /// Creates a writer that continues with the numbers of an earlier one. Numbers that occur in the texts
    /// are reserved.
    pub(super) fn resume<'t>(
        redaction: &'a Redaction,
        numbers: Numbers,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Self {
        let Redaction { finders, placeholders } = redaction;
        let mut writer = Self { placeholders: *placeholders, finders, numbers };
        texts.into_iter().for_each(|text| writer.reserve_numbers(text));
        writer
    }

    pub(super) fn into_numbers(self) -> Numbers {
        self.numbers
    }

    /// Reserves the numbers of placeholders that occur in a text.
    fn reserve_numbers(&mut self, text: &str) {
        let mut from = 0;
        while self.placeholders == Placeholders::Numbered
            && let Some((range, finder, number)) = self.next_placeholder(text, from)
        {
            from = range.end;
            let highest = self.numbers.highest.entry(finder).or_default();
            *highest = number.max(*highest);
        }
    }

    /// Returns the ranges of a text between placeholders.
    pub(super) fn between_placeholders(&self, text: &str) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut from = 0;
        while let Some((range, ..)) = self.next_placeholder(text, from) {
            parts.push(from..range.start);
            from = range.end;
        }
        parts.push(from..text.len());
        parts
    }

    /// Returns the next placeholder at or after an index: its range, finder, and number.
    fn next_placeholder(&self, text: &str, from: usize) -> Option<(Range<usize>, usize, u64)> {
        let labels = self.finders.iter().map(|finder| finder.label.len());
        // The longest label, `_`, a number, and the closing bracket.
        let max_length = labels.max().unwrap_or(0) + MAX_DIGITS + 2;
        let mut start = from;
        loop {
            let rest = text.get(start..)?;
            let distance = rest.find('[');
            steps::add(distance.unwrap_or(rest.len()) + max_length);
            start += distance?;
            let inner = text.as_bytes().get(start + 1..).unwrap_or_default();
            let length = inner.iter().take(max_length).position(|b| *b == b']');
            let inner = length.and_then(|length| text.get(start + 1..start + 1 + length));
            if let Some((finder, number)) = inner.and_then(|inner| self.parse(inner)) {
                let length = inner.map_or(0, str::len);
                return Some((start..start + length + 2, finder, number));
            }
            start += 1;
        }
    }

    /// Parses the finder and the number between brackets.
    fn parse(&self, inner: &str) -> Option<(usize, u64)> {
        self.finders.iter().enumerate().find_map(|(index, finder)| {
            let rest = inner.strip_prefix(&*finder.label)?;
            if rest.is_empty() {
                return Some((index, 0));
            }
            let digits = rest.strip_prefix('_')?;
            let is_number =
                digits.len() <= MAX_DIGITS && digits.bytes().all(|b| b.is_ascii_digit());
            is_number.then(|| digits.parse().ok()).flatten().map(|number| (index, number))
        })
    }

    /// Replaces findings, which are sorted, by placeholders.
    pub(super) fn write(&mut self, text: &str, found: &[Finding]) -> String {
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for Finding { range, finder } in found {
            out.push_str(text.get(from..range.start).unwrap_or_default());
            let value = text.get(range.clone()).unwrap_or_default();
            let number = self.number(*finder, value);
            let label = self.finders.get(*finder).map_or("REDACTED", |finder| &*finder.label);
            match number {
                Some(number) => out.push_str(&format!("[{label}_{number}]")),
                None => out.push_str(&format!("[{label}]")),
            }
            from = range.end;
        }
        out.push_str(text.get(from..).unwrap_or_default());
        out
    }

    /// Returns the number of a value, or `None` for plain placeholders.
    fn number(&mut self, finder: usize, value: &str) -> Option<u64> {
        if self.placeholders == Placeholders::Plain {
            return None;
        }
        let kind = self.finders.get(finder).and_then(|finder| finder.kind);
        let value =
            kind.map_or_else(|| value.to_owned(), |kind| kind.normalize(value).into_owned());
        let highest = self.numbers.highest.entry(finder).or_default();
        let number = self.numbers.assigned.entry((finder, value)).or_insert_with(|| {
            *highest = highest.saturating_add(1).min(MAX_NUMBER);
            *highest
        });
        Some(*number)
    }
}
