//! The operations of retrieval: `rrf`, `aggregate` and `inject`.

use super::message::message;
use super::{Case, Malformed, Outcome, compare, outcome, read};
use ai_services::TurnContext;
use ai_services::document::{Metadata, TextSegment};
use ai_services::message::{ChatMessage, UserMessage};
use ai_services::prompt::PromptTemplate;
use ai_services::rag::{
    ContentAggregator, ContentInjector, DefaultContentInjector, Query, ReciprocalRankFusion,
    RetrievedContent,
};
use futures_util::FutureExt;
use serde::Deserialize;
use serde_json::Value;

/// A content in the format of the cases.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Rich {
        text: String,
        #[serde(default)]
        metadata: Metadata,
        score: Option<f64>,
    },
}

impl From<Written> for RetrievedContent {
    fn from(written: Written) -> Self {
        match written {
            Written::Text(text) => text.into(),
            Written::Rich { text, metadata, score } => {
                let content = Self::new(TextSegment::new(text).with_metadata(metadata));
                match score {
                    Some(score) => content.with_score(score),
                    None => content,
                }
            }
        }
    }
}

/// The contents of a list.
pub(super) fn contents(list: &Value) -> Result<Vec<RetrievedContent>, Malformed> {
    Ok(read::<Vec<Written>>(list)?.into_iter().map(Into::into).collect())
}

fn lists(lists: &[Value]) -> Result<Vec<Vec<RetrievedContent>>, Malformed> {
    lists.iter().map(contents).collect()
}

/// Runs the case of a fusion.
pub(super) fn fusion(case: &Case, op: &str) -> Result<Outcome, Malformed> {
    let expected = case.expected.get("fused").map(contents).transpose()?;
    Ok(outcome(compare("fused", &expected, &fuse(case, op)?)))
}

/// Returns the result of a fusion. `None` for an error.
pub(super) fn fuse(case: &Case, op: &str) -> Result<Option<Vec<RetrievedContent>>, Malformed> {
    if op == "rrf" { rrf(case) } else { aggregate(case) }
}

#[derive(Deserialize)]
struct RrfInput {
    lists: Vec<Value>,
    k: Option<i64>,
}

fn rrf(case: &Case) -> Result<Option<Vec<RetrievedContent>>, Malformed> {
    let RrfInput { lists: input, k } = read(&case.input)?;
    let lists = lists(&input)?;
    let fusion = match k.map(u32::try_from) {
        None => Some(ReciprocalRankFusion::new()),
        Some(k) => k.ok().and_then(|k| ReciprocalRankFusion::with_k(k).ok()),
    };
    Ok(fusion.map(|fusion| fusion.fuse(lists)))
}

#[derive(Deserialize)]
struct AggregateInput {
    queries: Vec<QueryInput>,
}

#[derive(Deserialize)]
struct QueryInput {
    text: String,
    lists: Vec<Value>,
}

fn aggregate(case: &Case) -> Result<Option<Vec<RetrievedContent>>, Malformed> {
    let AggregateInput { queries } = read(&case.input)?;
    let turn = TurnContext::builder(UserMessage::new("the question")).build();
    let mut found = Vec::new();
    for QueryInput { text, lists: input } in queries {
        found.push((Query::new(text, turn.clone()), lists(&input)?));
    }
    let fusion = ReciprocalRankFusion::new();
    match fusion.aggregate(found).now_or_never() {
        Some(fused) => Ok(fused.ok()),
        None => Err("fusion waits for something".into()),
    }
}

#[derive(Deserialize)]
struct InjectInput {
    contents: Value,
    message: Value,
    template: Option<String>,
    metadata_keys: Option<Vec<String>>,
}

/// Converts a template of the reference to the variable names of this project.
pub(super) fn translated(template: &str) -> String {
    template.replace("userMessage", "user_message")
}

pub(super) fn inject(case: &Case) -> Result<Outcome, Malformed> {
    let InjectInput { contents: input, message: said, template, metadata_keys } =
        read(&case.input)?;
    let contents = contents(&input)?;
    let ChatMessage::User(said) = message(&said)? else {
        return Err("contents are sent in a user message".into());
    };
    let told = || {
        let mut injector = DefaultContentInjector::builder();
        if let Some(template) = template {
            injector = injector.template(PromptTemplate::parse(&translated(&template))?);
        }
        if let Some(keys) = metadata_keys {
            injector = injector.metadata_keys(keys);
        }
        injector.build()?.inject(&said, &contents)
    };
    let got: ai_services::Result<UserMessage> = told();
    let expected = case.expected.get("message").map(message).transpose()?;
    Ok(outcome(compare("message", &expected, &got.ok().map(ChatMessage::User))))
}
