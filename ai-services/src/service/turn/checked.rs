//! What becomes of an answer before it is read.

use crate::guardrail::Rejection;

/// What the checks of an answer came to. One that ends the call is an error instead.
#[derive(Debug)]
pub(crate) enum Checked {
    /// It is the answer.
    Accepted,
    /// This text is the answer instead.
    Rewritten(Box<str>),
    /// The model is asked again, and told something about its answer if there is something to tell.
    Again { rejection: Rejection, prompt: Option<Box<str>> },
}

/// How a model came by its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnsweredBy {
    /// It said nothing else.
    Text,
    /// It said so beside calls of tools.
    TextBesideCalls,
    /// The results of tools are the answer, as they are.
    Results,
}
