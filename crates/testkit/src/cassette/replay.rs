//! Replay of a recording.

use super::cassette_file;
use super::difference::{NotRecorded, differences};
use super::format::{self, Exchange};
use super::request_value;
use ai_services_core::model::{
    Capabilities, ChatModel, ChatRequest, ChatResponse, ModelStreamEvent,
};
use ai_services_core::redaction::Redaction;
use ai_services_core::{Error, ErrorKind, Result};
use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::Value;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The order in which requests match the exchanges of a recording.
///
/// # Examples
///
/// ```no_run
/// use ai_services::combinators::{ReplayModel, ReplayOrder, ReplayUse};
///
/// # async fn example() -> ai_services::Result<()> {
/// let model = ReplayModel::builder()
///     .order(ReplayOrder::InSequence)
///     .uses(ReplayUse::Repeatedly)
///     .open("tests/cassettes/support.jsonl")
///     .await?;
/// # let _ = model;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayOrder {
    /// Each request matches the first unused exchange with an equal request.
    #[default]
    AnyOrder,
    /// Requests must come in the order of the recording.
    InSequence,
}

/// The number of times an exchange can be used; see [`ReplayOrder`] for an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayUse {
    /// Each exchange is used once.
    #[default]
    Once,
    /// Exchanges are used any number of times. With [`ReplayOrder::AnyOrder`], the last equal exchange is
    /// repeated after all equal ones were used; with [`ReplayOrder::InSequence`], the recording starts over.
    Repeatedly,
}

/// A model that answers from a cassette, which a [`RecordingModel`](super::RecordingModel) has written. It
/// sends no requests.
///
/// A request matches an exchange with equal messages, tools and parameters, after redaction. Configure the
/// redactions of the recording. An exchange that was recorded without streaming can be replayed as a stream,
/// and vice versa; pieces are delivered as recorded. Recorded errors are replayed too.
///
/// Values that change with every run, such as the date in a prompt, must be fixed: set a
/// clock (`AiServiceBuilder::clock`) in the AI service, or replace the values with `redact_with` on
/// both sides.
///
/// Name and capabilities are those of the recorded model, so that an AI service makes equal requests. Clones
/// share the usage of exchanges.
///
/// # Errors
///
/// Returns [`ErrorKind::Configuration`] for a request that is not in the cassette, or no longer unused; the
/// [`NotRecorded`] lists the differences from the most similar exchange.
///
/// # Examples
///
/// ```
/// use ai_services::combinators::{NotRecorded, ReplayModel};
/// use ai_services::message::ChatMessage;
/// use ai_services::model::{ChatModel, ChatRequest};
///
/// const CASSETTE: &str = r#"{"format":"ai-services cassette","version":1,"model":"m","capabilities":[]}
/// {"request":{"messages":[{"type":"USER","contents":[{"type":"TEXT","text":"Hi!"}]}]},"response":{"message":{"type":"AI","text":"Hello."}}}
/// "#; // or `ReplayModel::open("tests/cassettes/hello.jsonl").await?`
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let model = ReplayModel::builder().read(CASSETTE)?;
/// let request = |text: &str| ChatRequest::new([ChatMessage::user(text)]);
/// let error = model.chat(&request("Hi?")).await.unwrap_err();
/// let differences = &error.detail::<NotRecorded>().unwrap().differences;
/// assert_eq!(*differences, ["messages[0].contents[0].text"]);
///
/// let response = model.chat(&request("Hi!")).await?;
/// assert_eq!(response.message.text(), Some("Hello."));
/// model.check_finished()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ReplayModel(Arc<Inner>);

struct Inner {
    name: Box<str>,
    capabilities: Capabilities,
    exchanges: Vec<Exchange>,
    settings: ReplayModelBuilder,
    uses: Mutex<Uses>,
}

struct Uses {
    /// Number of uses of each exchange.
    counts: Vec<u32>,
    /// Number of answered requests.
    total: usize,
}

impl ReplayModel {
    /// Opens the cassette at `path` for use in any order, each exchange once.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ReplayModelBuilder::open`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(path).await
    }

    /// Starts building a replay.
    pub fn builder() -> ReplayModelBuilder {
        ReplayModelBuilder::default()
    }

    /// Returns the line numbers of the unused exchanges.
    #[must_use]
    pub fn unused_lines(&self) -> Vec<usize> {
        let uses = self.uses();
        let exchanges = self.0.exchanges.iter().zip(&uses.counts);
        exchanges.filter(|(_, count)| **count == 0).map(|(exchange, _)| exchange.line).collect()
    }

    /// Checks that all exchanges were used.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`] if exchanges are unused; the message contains their line numbers.
    pub fn check_finished(&self) -> Result<()> {
        let unused = self.unused_lines();
        match unused.as_slice() {
            [] => Ok(()),
            lines => {
                let lines: Vec<_> = lines.iter().map(usize::to_string).collect();
                Err(Error::configuration(format!(
                    "{} unused exchanges in the cassette, on lines {}",
                    lines.len(),
                    lines.join(", ")
                )))
            }
        }
    }

    fn find(&self, request: &ChatRequest) -> Result<&Exchange> {
        let actual = normalize(request_value(request)?, &self.0.settings.redaction)?;
        let mut uses = self.uses();
        let found = match self.0.settings.order {
            ReplayOrder::AnyOrder => self.find_any(&actual, &uses),
            ReplayOrder::InSequence => self.find_next(&actual, &uses),
        };
        let Some((index, exchange)) = found else { return Err(self.not_recorded(&actual, &uses)) };
        uses.total += 1;
        if let Some(count) = uses.counts.get_mut(index) {
            *count += 1;
        }
        Ok(exchange)
    }

    fn find_any(&self, actual: &Value, uses: &Uses) -> Option<(usize, &Exchange)> {
        let equal = || {
            let exchanges = self.0.exchanges.iter().enumerate();
            exchanges.filter(|(_, exchange)| exchange.request == *actual)
        };
        let unused = equal().find(|(index, _)| uses.counts.get(*index) == Some(&0));
        let is_repeated = self.0.settings.uses == ReplayUse::Repeatedly;
        unused.or_else(|| equal().next_back().filter(|_| is_repeated))
    }

    fn find_next(&self, actual: &Value, uses: &Uses) -> Option<(usize, &Exchange)> {
        let index = self.next_index(uses)?;
        let exchange = self.0.exchanges.get(index)?;
        (exchange.request == *actual).then_some((index, exchange))
    }

    /// Returns the index of the next exchange in the sequence.
    fn next_index(&self, uses: &Uses) -> Option<usize> {
        match self.0.settings.uses {
            ReplayUse::Once => Some(uses.total),
            ReplayUse::Repeatedly => uses.total.checked_rem(self.0.exchanges.len()),
        }
    }

    fn not_recorded(&self, actual: &Value, uses: &Uses) -> Error {
        let all = self.0.exchanges.iter().enumerate();
        let next = self.next_index(uses);
        let candidates = all.filter(|(index, _)| match self.0.settings.order {
            ReplayOrder::AnyOrder => true,
            ReplayOrder::InSequence => Some(*index) == next,
        });
        let compared =
            candidates.map(|(_, exchange)| (exchange.line, differences(&exchange.request, actual)));
        let most_similar = compared.min_by_key(|(_, differences)| differences.len());
        let (line, differences) = most_similar.unzip();
        let missing = NotRecorded { line, differences: differences.unwrap_or_default() };
        Error::configuration(missing.to_string()).with_source(missing)
    }

    /// Locks the counters. Code under the lock cannot panic, so that a poisoned lock is safe to use.
    fn uses(&self) -> MutexGuard<'_, Uses> {
        self.0.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the form in which requests are compared: redacted, and with a JSON round trip like that of the
/// recorded request, so that numbers are rounded equally.
fn normalize(mut request: Value, redaction: &Redaction) -> Result<Value> {
    redaction.line(&mut request);
    serde_json::from_str(&request.to_string()).map_err(|source| {
        Error::new(ErrorKind::Configuration, "the request cannot be compared").with_source(source)
    })
}

#[async_trait]
impl ChatModel for ReplayModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let exchange = self.find(request)?;
        exchange.outcome.clone().map_err(|_| exchange.error())
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        // The exchange is marked as used at the first poll.
        let events = async move {
            let events = match self.find(request) {
                Ok(exchange) => exchange.events(),
                Err(error) => vec![Err(error)],
            };
            stream::iter(events)
        };
        stream::once(events).flatten().boxed()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities
    }

    fn name(&self) -> &str {
        &self.0.name
    }
}

impl fmt::Debug for ReplayModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayModel")
            .field("name", &self.0.name)
            .field("exchanges", &self.0.exchanges.len())
            .field("unused", &self.unused_lines().len())
            .finish()
    }
}

/// Builds a [`ReplayModel`].
#[derive(Clone, Default)]
#[must_use]
pub struct ReplayModelBuilder {
    redaction: Redaction,
    order: ReplayOrder,
    uses: ReplayUse,
    capabilities: Option<Capabilities>,
}

impl ReplayModelBuilder {
    /// Redacts a text before requests are compared. Use the redactions of the recording.
    pub fn redact(mut self, secret: impl Into<String>) -> Self {
        self.redaction.literal(secret.into());
        self
    }

    /// Applies a function to every text before requests are compared. Use the functions of the recording.
    pub fn redact_with(
        mut self,
        function: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        self.redaction.function(function);
        self
    }

    /// Sets the order of the exchanges. Default: [`ReplayOrder::AnyOrder`].
    pub fn order(mut self, order: ReplayOrder) -> Self {
        self.order = order;
        self
    }

    /// Sets how often an exchange can be used. Default: [`ReplayUse::Once`].
    pub fn uses(mut self, uses: ReplayUse) -> Self {
        self.uses = uses;
        self
    }

    /// Sets the capabilities of the model, in place of those of the recorded model.
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// Reads the cassette at `path`.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`] if the file cannot be read, and the errors of
    /// [`read`](Self::read).
    pub async fn open(self, path: impl AsRef<Path>) -> Result<ReplayModel> {
        let path = path.as_ref();
        let text = tokio::fs::read_to_string(path).await;
        self.read(&text.map_err(|source| cassette_file::io_error("read", path, source))?)
    }

    /// Reads a cassette from a string, for example from `include_str!`.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Configuration`] if the text is not a cassette; the
    /// [`CorruptCassette`](super::CorruptCassette) contains the line number.
    pub fn read(self, cassette: &str) -> Result<ReplayModel> {
        let (header, mut exchanges) = format::read(cassette)?;
        for exchange in &mut exchanges {
            self.redaction.line(&mut exchange.request);
        }
        let uses = Uses { counts: vec![0; exchanges.len()], total: 0 };
        Ok(ReplayModel(Arc::new(Inner {
            capabilities: self.capabilities.unwrap_or_else(|| header.capabilities()),
            name: header.model,
            exchanges,
            settings: self,
            uses: Mutex::new(uses),
        })))
    }
}

impl fmt::Debug for ReplayModelBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayModelBuilder")
            .field("order", &self.order)
            .field("uses", &self.uses)
            .finish_non_exhaustive()
    }
}
