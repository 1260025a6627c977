//! The `template` operation.

use super::{Case, Malformed, Outcome, compare, outcome, read};
use ai_services::prompt::{LocalDateTime, PromptTemplate, PromptVariables};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The clock of cases without one. They only use the date.
const DEFAULT_CLOCK: &str = "2026-08-15T00:00:00Z";

#[derive(Deserialize)]
struct Input {
    template: Option<String>,
    variables: Option<Map<String, Value>>,
    value: Option<Value>,
    clock: Option<String>,
}

#[derive(Debug, Default, Deserialize, PartialEq)]
struct Expected {
    text: Option<String>,
    template_variables: Option<BTreeSet<String>>,
    stage: Option<String>,
    missing: Option<BTreeSet<String>>,
}

pub(super) fn run(case: &Case) -> Result<Outcome, Malformed> {
    let input: Input = read(&case.input)?;
    let mut expected: Expected = read(&case.expected)?;
    let clock = input.clock.as_deref().unwrap_or(DEFAULT_CLOCK).trim_end_matches('Z');
    let now: LocalDateTime = clock.parse().map_err(|error| format!("{error}"))?;
    let mut variables = input.variables.unwrap_or_default();
    variables.extend(input.value.map(|value| ("it".to_owned(), value)));

    let mut got = render(&input.template.unwrap_or_default(), &variables, now);
    if let Some(missing) = &mut got.missing {
        // Null is a value in the reference but not in this project.
        missing.retain(|name| variables.get(name) != Some(&Value::Null));
    }
    // An error with another cause than a missing value.
    expected.missing =
        expected.missing.or_else(|| expected.stage.as_ref().map(|_| BTreeSet::new()));
    got.missing = got.missing.or_else(|| got.stage.as_ref().map(|_| BTreeSet::new()));
    Ok(outcome(compare("template", &expected, &got)))
}

fn render(template: &str, variables: &Map<String, Value>, now: LocalDateTime) -> Expected {
    let Ok(template) = PromptTemplate::parse(template) else {
        return Expected { stage: Some("create".into()), ..Expected::default() };
    };
    let names: BTreeSet<String> = template.variables().map(str::to_owned).collect();
    let mut values = PromptVariables::new();
    for (name, value) in variables {
        values = match value {
            Value::Null => values,
            Value::String(text) => values.with(name.as_str(), text),
            value => values.with(name.as_str(), value),
        };
    }
    let mut got = Expected::default();
    match template.render_at(&values, &|| now) {
        Ok(text) => got.text = Some(text),
        Err(error) => {
            let error = error.to_string();
            let named = names.iter().filter(|name| error.contains(&format!("`{name}`")));
            got.missing = Some(named.cloned().collect());
            got.stage = Some("apply".into());
        }
    }
    got.template_variables = Some(names);
    got
}
