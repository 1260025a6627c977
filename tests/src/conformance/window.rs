//! The `message_window` and `token_window` operations.

use super::estimator::Description;
use super::message::{message, messages};
use super::recorder::Recorder;
use super::{Case, Malformed, Outcome, compare, read};
use ai_services::memory::{
    ChatMemory, ChatMemoryStore, MemoryId, MessageWindowChatMemory, TokenCountEstimator,
    TokenWindowChatMemory,
};
use ai_services::message::ChatMessage;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Deserialize)]
struct Input {
    #[serde(default)]
    max: Option<i64>,
    #[serde(default)]
    dynamic: bool,
    #[serde(default)]
    always_keep_system_message_first: bool,
    memory_id: Option<Value>,
    store: Option<String>,
    initial: Option<Value>,
    estimator: Option<Description>,
    #[serde(default)]
    ops: Vec<Value>,
}

#[derive(Deserialize)]
struct Expected {
    build_error: Option<Value>,
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    #[serde(default)]
    store: Vec<Value>,
    error: Option<Value>,
    messages: Option<Value>,
    messages_error: Option<Value>,
    stored: Option<Value>,
    tokens: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Op {
    Add(Value),
    AddAll(Value),
    Set(Value),
    Clear(#[expect(dead_code, reason = "always true")] bool),
    Messages(#[expect(dead_code, reason = "always true")] bool),
    Max(Option<i64>),
}

/// A window and the things that a step checks.
struct Subject {
    id: MemoryId,
    memory: Box<dyn ChatMemory>,
    maximum: Arc<AtomicUsize>,
    /// `None` if the window has its own store.
    store: Option<Recorder>,
    estimator: Option<Arc<dyn TokenCountEstimator>>,
}

pub(super) fn run(case: &Case) -> Result<Outcome, Malformed> {
    let input: Input = read(&case.input)?;
    let expected: Expected = read(&case.expected)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(replay(input, expected))
}

async fn replay(mut input: Input, expected: Expected) -> Result<Outcome, Malformed> {
    let ops = std::mem::take(&mut input.ops);
    let initial = input.initial.as_ref().map(messages).transpose()?;
    let subject = match (Subject::new(input), expected.build_error) {
        (Ok(subject), None) => subject,
        (Err(_), Some(_)) => return Ok(Outcome::Passed),
        (Ok(_), Some(error)) => {
            return Ok(Outcome::Failed(format!("build: expected {error}, got a memory")));
        }
        (Err(error), None) => {
            return Ok(Outcome::Failed(format!("build: expected a memory, got {error}")));
        }
    };
    if let Some(initial) = initial {
        subject.fill(&initial).await?;
    }
    if ops.len() != expected.steps.len() {
        return Err("the numbers of `ops` and `steps` differ".into());
    }
    for (index, (op, step)) in ops.iter().zip(&expected.steps).enumerate() {
        if let Err(what) = subject.step(&read(op)?, step).await? {
            return Ok(Outcome::Failed(format!("step {index}: {what}")));
        }
    }
    Ok(Outcome::Passed)
}

impl Subject {
    fn new(input: Input) -> Result<Self, ai_services::Error> {
        let id = match &input.memory_id {
            None => MemoryId::from("default"),
            Some(Value::String(id)) => MemoryId::from(id),
            Some(other) => MemoryId::from(other.to_string()),
        };
        let maximum = Arc::new(AtomicUsize::new(at_least_zero(input.max)));
        let store = (input.store.as_deref() != Some("default")).then(Recorder::default);
        let estimator = input.estimator.map(Description::estimator);
        let dynamic = input.dynamic.then(|| {
            let maximum = Arc::clone(&maximum);
            move |_: &MemoryId| maximum.load(Ordering::Relaxed)
        });
        let first = input.always_keep_system_message_first;
        let max = at_least_zero(input.max);

        // The two builders have the same methods, but no common type.
        macro_rules! build {
            ($builder:expr) => {{
                let mut builder = $builder.id(&id);
                if let Some(store) = &store {
                    builder = builder.store(store.clone());
                }
                if first {
                    builder = builder.always_keep_system_message_first();
                }
                Box::new(builder.build()?)
            }};
        }
        let memory: Box<dyn ChatMemory> = match (&estimator, dynamic) {
            (None, None) => build!(MessageWindowChatMemory::builder().max_messages(max)),
            (None, Some(max)) => {
                build!(MessageWindowChatMemory::builder().dynamic_max_messages(max))
            }
            (Some(by), None) => {
                build!(TokenWindowChatMemory::builder().max_tokens(max, Arc::clone(by)))
            }
            (Some(by), Some(max)) => {
                build!(TokenWindowChatMemory::builder().dynamic_max_tokens(max, Arc::clone(by)))
            }
        };
        Ok(Self { id, memory, maximum, store, estimator })
    }

    /// Writes messages into the store without the window.
    async fn fill(&self, messages: &[ChatMessage]) -> Result<(), Malformed> {
        let Some(store) = &self.store else { return Err("`initial` without a store".into()) };
        let filled = store.update_messages(&self.id, messages).await;
        store.take_writes();
        filled.map_err(|error| error.to_string())
    }

    /// Performs an operation and compares the result.
    async fn step(&self, op: &Op, step: &Step) -> Result<Result<(), String>, Malformed> {
        let failed = self.operate(op).await?.is_err();
        if failed != step.error.is_some() {
            return Ok(Err(format!("expected the error {:?}, got an error: {failed}", step.error)));
        }
        if let Some(store) = &self.store {
            let writes = store.take_writes();
            let reference = step.store.iter().filter(|call| call.get("get").is_none()).count();
            if writes > reference {
                return Ok(Err(format!("expected at most {reference} writes, got {writes}")));
            }
        }
        let got = self.memory.messages().await;
        let expected = step.messages.as_ref().map(messages).transpose()?;
        if got.is_err() != step.messages_error.is_some() {
            return Ok(Err(format!("messages: expected {:?}, got {got:?}", step.messages_error)));
        }
        let compared = compare("messages", &expected, &got.as_ref().ok().cloned());
        let stored = match &step.stored {
            Some(stored) => Some(messages(stored)?),
            None => expected,
        };
        Ok(compared.and(self.compare_stored(stored).await).and(self.compare_tokens(step, got.ok())))
    }

    async fn operate(&self, op: &Op) -> Result<ai_services::Result<()>, Malformed> {
        Ok(match op {
            Op::Add(added) => self.memory.add(message(added)?).await,
            Op::AddAll(added) => self.memory.add_all(messages(added)?).await,
            Op::Set(set) => self.memory.set(messages(set)?).await,
            Op::Clear(_) => self.memory.clear().await,
            Op::Messages(_) => self.memory.messages().await.map(drop),
            Op::Max(maximum) => {
                self.maximum.store(at_least_zero(*maximum), Ordering::Relaxed);
                Ok(())
            }
        })
    }

    async fn compare_stored(&self, expected: Option<Vec<ChatMessage>>) -> Result<(), String> {
        let (Some(store), Some(expected)) = (&self.store, expected) else { return Ok(()) };
        let stored = store.get_messages(&self.id).await.map_err(|error| error.to_string())?;
        compare("stored", &expected, &stored)
    }

    fn compare_tokens(&self, step: &Step, got: Option<Vec<ChatMessage>>) -> Result<(), String> {
        let (Some(estimator), Some(expected)) = (&self.estimator, step.tokens) else {
            return Ok(());
        };
        let tokens = estimator.count_messages(&got.unwrap_or_default());
        compare("tokens", &Some(expected), &tokens.ok().map(|tokens| tokens as u64))
    }
}

/// Missing numbers are zero, because the type has no other value.
fn at_least_zero(maximum: Option<i64>) -> usize {
    maximum.and_then(|maximum| usize::try_from(maximum).ok()).unwrap_or(0)
}
