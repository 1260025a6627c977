//! The names of all attributes and arguments.

use syn::Attribute;

pub(crate) const AI_SERVICE: &str = "ai_service";
pub(crate) const TOOLS: &str = "tools";
pub(crate) const TOOL: &str = "tool";

pub(crate) const SYSTEM_MESSAGE: &str = "system_message";
pub(crate) const USER_MESSAGE: &str = "user_message";
pub(crate) const MODERATE: &str = "moderate";
pub(crate) const INPUT_GUARDRAILS: &str = "input_guardrails";
pub(crate) const OUTPUT_GUARDRAILS: &str = "output_guardrails";
pub(crate) const MEMORY_ID: &str = "memory_id";
pub(crate) const V: &str = "v";
pub(crate) const USER_NAME: &str = "user_name";
pub(crate) const PARAMETERS: &str = "parameters";
pub(crate) const CONTEXT: &str = "context";
pub(crate) const P: &str = "p";

pub(crate) const CRATE: &str = "crate";
pub(crate) const NAME: &str = "name";
pub(crate) const DESCRIPTION: &str = "description";
pub(crate) const TIMEOUT: &str = "timeout";
pub(crate) const SEQUENTIAL: &str = "sequential";
pub(crate) const RETURN_IMMEDIATELY: &str = "return_immediately";
pub(crate) const DEFAULT: &str = "default";
pub(crate) const DELIMITER: &str = "delimiter";
pub(crate) const FILE: &str = "file";
pub(crate) const MAX_RETRIES: &str = "max_retries";
pub(crate) const MESSAGE: &str = "message";
pub(crate) const ANSWER: &str = "answer";

/// The attributes that are only allowed inside `#[ai_service]`, `#[tools]` or `#[tool]`.
const HELPERS: [&str; 12] = [
    SYSTEM_MESSAGE,
    USER_MESSAGE,
    MODERATE,
    INPUT_GUARDRAILS,
    OUTPUT_GUARDRAILS,
    MEMORY_ID,
    V,
    USER_NAME,
    PARAMETERS,
    CONTEXT,
    P,
    TOOL,
];

/// Returns the name of an attribute of this crate, or `None` for other attributes.
pub(crate) fn helper(attribute: &Attribute) -> Option<&'static str> {
    let path = attribute.path();
    let name = path.segments.last()?;
    // `#[ai_services::tool]` is also a macro and may be written with its path.
    let qualified = path.segments.first().is_some_and(|first| first.ident == "ai_services");
    HELPERS
        .into_iter()
        .find(|helper| path.is_ident(helper) || qualified && name.ident == TOOL && *helper == TOOL)
}

/// Returns the place where an attribute is allowed, for the error of a misplaced attribute.
pub(crate) fn allowed_place(name: &str) -> &'static str {
    match name {
        SYSTEM_MESSAGE => "a trait with `#[ai_service]` or one of its methods",
        USER_MESSAGE => "a method of a trait with `#[ai_service]`, or one of its parameters",
        MODERATE | INPUT_GUARDRAILS | OUTPUT_GUARDRAILS => {
            "a trait with `#[ai_service]` or one of its methods"
        }
        MEMORY_ID | CONTEXT => "a parameter of an AI service method or of a tool",
        V | USER_NAME | PARAMETERS => "a parameter of an AI service method",
        P => "a parameter of a tool",
        _ => "a function, or a method in an `impl` block with `#[tools]`",
    }
}

/// Returns the correct form of an attribute, for the error of a malformed attribute.
pub(crate) fn usage(name: &str) -> &'static str {
    match name {
        AI_SERVICE => "#[ai_service(name = \"...\", crate = path)]",
        TOOLS => "#[tools(crate = path)]",
        TOOL => {
            "#[tool(name = \"...\", description = \"...\", timeout = \"30s\", sequential, return_immediately)]"
        }
        SYSTEM_MESSAGE => "#[system_message(\"...\")]` or `#[system_message(file = \"...\")]",
        USER_MESSAGE => "#[user_message(\"...\")]` or `#[user_message(file = \"...\")]",
        MODERATE => "#[moderate]` or `#[moderate(message, answer)]",
        INPUT_GUARDRAILS => "#[input_guardrails(guardrail, ...)]",
        OUTPUT_GUARDRAILS => "#[output_guardrails(guardrail, ..., max_retries = 2)]",
        MEMORY_ID => "#[memory_id]",
        V => "#[v]` or `#[v(\"name\")]",
        USER_NAME => "#[user_name]",
        PARAMETERS => "#[parameters]",
        CONTEXT => "#[context]",
        _ => "#[p(\"description\", default = value)]",
    }
}
