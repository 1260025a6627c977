//! Collection of mistakes, so that one compilation reports all of them.

use proc_macro2::TokenStream;
use quote::ToTokens;

/// The mistakes that were found so far.
#[derive(Default)]
pub(crate) struct Diagnostics {
    reports: Vec<Report>,
}

/// One mistake: a message with optional excerpt, note and help.
pub(crate) struct Report {
    at: TokenStream,
    message: String,
}

impl Diagnostics {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Reports a mistake. `at` are the tokens that the user has to change.
    pub(crate) fn error(&mut self, at: &dyn ToTokens, message: String) -> &mut Report {
        self.reports.push(Report { at: at.to_token_stream(), message });
        let last = self.reports.len() - 1;
        #[expect(clippy::indexing_slicing, reason = "the element was pushed above")]
        &mut self.reports[last]
    }

    /// Returns `Ok` if there were no mistakes, otherwise the compile errors in source order.
    pub(crate) fn finish(mut self) -> Result<(), TokenStream> {
        if self.reports.is_empty() {
            return Ok(());
        }
        self.reports.sort_by_key(|report| position(&report.at));
        Err(self.reports.into_iter().map(Report::into_tokens).collect())
    }

    #[cfg(test)]
    pub(crate) fn messages(&self) -> Vec<&str> {
        self.reports.iter().map(|report| report.message.as_str()).collect()
    }
}

impl Report {
    /// Adds the line of a template that contains the mistake. At most one.
    pub(crate) fn excerpt(&mut self, excerpt: &str) -> &mut Self {
        for line in excerpt.lines() {
            self.line("    ", line);
        }
        self
    }

    /// Adds a note with a fact. At most one.
    pub(crate) fn note(&mut self, note: impl AsRef<str>) -> &mut Self {
        self.line("note: ", note.as_ref())
    }

    /// Adds a help with an action. At most one.
    pub(crate) fn help(&mut self, help: impl AsRef<str>) -> &mut Self {
        self.line("help: ", help.as_ref())
    }

    fn line(&mut self, prefix: &str, text: &str) -> &mut Self {
        self.message.push('\n');
        self.message.push_str(prefix);
        self.message.push_str(text);
        self
    }

    fn into_tokens(self) -> TokenStream {
        syn::Error::new_spanned(self.at, self.message).into_compile_error()
    }
}

/// Returns line and column of the first token. Unit tests run outside the compiler and have no positions.
fn position(tokens: &TokenStream) -> (usize, usize) {
    let Some(first) = tokens.clone().into_iter().next() else { return (0, 0) };
    if !proc_macro::is_available() {
        return (0, 0);
    }
    let span = first.span().unwrap();
    (span.line(), span.column())
}

#[cfg(test)]
mod tests;
