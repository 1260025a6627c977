//! Answering from a recording.

use super::difference::{NotRecorded, differences};
use super::format::{self, Exchange};
use super::redact::Redaction;
use super::request_value;
use super::tape;
use ai_services_core::model::{
    Capabilities, ChatModel, ChatRequest, ChatResponse, ModelStreamEvent,
};
use ai_services_core::{Error, ErrorKind, Result};
use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::Value;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// In which order a recording is used.
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
    /// Each request finds the first exchange of its kind that was not used.
    #[default]
    AnyOrder,
    /// Requests have to come in the order of the recording.
    InSequence,
}

/// How often an exchange is used; see [`ReplayOrder`] for an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayUse {
    /// Once.
    #[default]
    Once,
    /// Any number of times. In any order, the last exchange of a kind is used again once all of them
    /// were; in sequence, the recording begins anew.
    Repeatedly,
}

/// Answers from a cassette that a [`RecordingModel`](super::RecordingModel) has written. Nothing is
/// sent anywhere.
///
/// A request finds the exchange of an equal one: the same messages, tools and parameters, without
/// secrets. Give it the redactions of the recording. An exchange that was recorded as a whole can be
/// asked for as a stream, and the other way round; pieces come as they were recorded. Errors that were
/// recorded are answers too.
///
/// What changes from run to run, such as the date in a prompt, has to stand still: give the service a
/// [clock](crate::AiServiceBuilder::clock), or replace it by `redact_with` on both sides.
///
/// Name and capabilities are those of the recorded model, so that a service makes the same requests.
/// Clones share what was used.
///
/// # Errors
///
/// [`ErrorKind::Configuration`] for a request that is not in the cassette, or not any more; the
/// [`NotRecorded`] says how it differs from the most similar one.
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
    /// How often each exchange was used.
    counts: Vec<u32>,
    /// How many requests were answered.
    total: usize,
}

impl ReplayModel {
    /// Answers from the cassette at `path`: in any order, each exchange once.
    ///
    /// # Errors
    ///
    /// As [`ReplayModelBuilder::open`].
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(path).await
    }

    /// Starts a replay.
    pub fn builder() -> ReplayModelBuilder {
        ReplayModelBuilder::default()
    }

    /// The lines of the cassette with exchanges that were not used.
    #[must_use]
    pub fn unused_lines(&self) -> Vec<usize> {
        let uses = self.uses();
        let exchanges = self.0.exchanges.iter().zip(&uses.counts);
        exchanges.filter(|(_, count)| **count == 0).map(|(exchange, _)| exchange.line).collect()
    }

    /// Whether all exchanges were used.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`] if some were not; the text names their lines.
    pub fn check_finished(&self) -> Result<()> {
        let unused = self.unused_lines();
        match unused.as_slice() {
            [] => Ok(()),
            lines => {
                let lines: Vec<_> = lines.iter().map(usize::to_string).collect();
                Err(Error::configuration(format!(
                    "{} exchanges of the cassette were not used, on lines {}",
                    lines.len(),
                    lines.join(", ")
                )))
            }
        }
    }

    fn find(&self, request: &ChatRequest) -> Result<&Exchange> {
        let asked = normal(request_value(request)?, &self.0.settings.redaction)?;
        let mut uses = self.uses();
        let found = match self.0.settings.order {
            ReplayOrder::AnyOrder => self.find_any(&asked, &uses),
            ReplayOrder::InSequence => self.find_next(&asked, &uses),
        };
        let Some((index, exchange)) = found else { return Err(self.not_recorded(&asked, &uses)) };
        uses.total += 1;
        if let Some(count) = uses.counts.get_mut(index) {
            *count += 1;
        }
        Ok(exchange)
    }

    fn find_any(&self, asked: &Value, uses: &Uses) -> Option<(usize, &Exchange)> {
        let equal = || {
            let exchanges = self.0.exchanges.iter().enumerate();
            exchanges.filter(|(_, exchange)| exchange.request == *asked)
        };
        let unused = equal().find(|(index, _)| uses.counts.get(*index) == Some(&0));
        let is_repeated = self.0.settings.uses == ReplayUse::Repeatedly;
        unused.or_else(|| equal().next_back().filter(|_| is_repeated))
    }

    fn find_next(&self, asked: &Value, uses: &Uses) -> Option<(usize, &Exchange)> {
        let index = self.next_index(uses)?;
        let exchange = self.0.exchanges.get(index)?;
        (exchange.request == *asked).then_some((index, exchange))
    }

    /// The exchange whose turn it is.
    fn next_index(&self, uses: &Uses) -> Option<usize> {
        match self.0.settings.uses {
            ReplayUse::Once => Some(uses.total),
            ReplayUse::Repeatedly => uses.total.checked_rem(self.0.exchanges.len()),
        }
    }

    fn not_recorded(&self, asked: &Value, uses: &Uses) -> Error {
        let all = self.0.exchanges.iter().enumerate();
        let next = self.next_index(uses);
        let in_question = all.filter(|(index, _)| match self.0.settings.order {
            ReplayOrder::AnyOrder => true,
            ReplayOrder::InSequence => Some(*index) == next,
        });
        let compared =
            in_question.map(|(_, exchange)| (exchange.line, differences(&exchange.request, asked)));
        let nearest = compared.min_by_key(|(_, differences)| differences.len());
        let (line, differences) = nearest.unzip();
        let missing = NotRecorded { line, differences: differences.unwrap_or_default() };
        Error::configuration(missing.to_string()).with_source(missing)
    }

    /// No code that can panic runs while it is locked.
    fn uses(&self) -> MutexGuard<'_, Uses> {
        self.0.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in the form in which requests are compared: written and read like the recorded one, so
/// that numbers are rounded alike.
fn normal(mut request: Value, redaction: &Redaction) -> Result<Value> {
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
        // Nothing is used up before the first poll.
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
    /// Removes a text before requests are compared, as the recording did.
    pub fn redact(mut self, secret: impl Into<String>) -> Self {
        self.redaction.literal(secret.into());
        self
    }

    /// Lets a function change every text before requests are compared, as the recording did.
    pub fn redact_with(
        mut self,
        function: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Self {
        self.redaction.function(function);
        self
    }

    /// Sets in which order the exchanges are used: any by default.
    pub fn order(mut self, order: ReplayOrder) -> Self {
        self.order = order;
        self
    }

    /// Sets how often an exchange is used: once by default.
    pub fn uses(mut self, uses: ReplayUse) -> Self {
        self.uses = uses;
        self
    }

    /// Sets what the model is capable of, in place of what the recorded one was.
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// Reads the cassette at `path`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`] if the file cannot be read, and as [`read`](Self::read).
    pub async fn open(self, path: impl AsRef<Path>) -> Result<ReplayModel> {
        let path = path.as_ref();
        let text = tokio::fs::read_to_string(path).await;
        self.read(&text.map_err(|source| tape::failed("read", path, source))?)
    }

    /// Reads a cassette that is there already, for example by `include_str!`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Configuration`] if it is not a cassette; the
    /// [`CorruptCassette`](super::CorruptCassette) names the line.
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
