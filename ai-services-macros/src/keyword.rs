//! The attributes of this crate, and the names of their arguments.

use crate::suggest;
use syn::Attribute;

pub(crate) const CRATE: &str = "crate";
pub(crate) const NAME: &str = "name";
pub(crate) const DESCRIPTION: &str = "description";
pub(crate) const TIMEOUT: &str = "timeout";
pub(crate) const SEQUENTIAL: &str = "sequential";
pub(crate) const RETURN_IMMEDIATELY: &str = "return_immediately";
pub(crate) const REQUIRES_APPROVAL: &str = "requires_approval";
pub(crate) const READ_ONLY: &str = "read_only";
pub(crate) const IDEMPOTENT: &str = "idempotent";
pub(crate) const VERIFY: &str = "verify";
pub(crate) const KEY: &str = "key";
pub(crate) const DEFAULT: &str = "default";
pub(crate) const DELIMITER: &str = "delimiter";
pub(crate) const FILE: &str = "file";
pub(crate) const MAX_RETRIES: &str = "max_retries";
pub(crate) const MESSAGE: &str = "message";
pub(crate) const ANSWER: &str = "answer";
pub(crate) const MODEL_CALLS: &str = "model_calls";
pub(crate) const TOOL_ROUNDS: &str = "tool_rounds";
pub(crate) const TOOL_CALLS: &str = "tool_calls";
pub(crate) const TOKENS: &str = "tokens";
pub(crate) const COST: &str = "cost";
pub(crate) const RUNNING_TIME: &str = "running_time";
pub(crate) const FINISH_WITHOUT_TOOLS: &str = "finish_without_tools";
pub(crate) const NONE: &str = "none";
pub(crate) const CHOICE: &str = "choice";
pub(crate) const AUTO: &str = "auto";
pub(crate) const REQUIRED: &str = "required";
pub(crate) const JSON: &str = "json";

/// An attribute of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyword {
    AiService,
    /// `#[tools]` on an `impl` block.
    Tools,
    Tool,
    SystemMessage,
    UserMessage,
    Moderate,
    InputGuardrails,
    OutputGuardrails,
    Budget,
    /// `#[tools]` on a method of an AI service.
    MethodTools,
    Retrieval,
    MemoryId,
    V,
    UserName,
    Parameters,
    Context,
    P,
}

/// The kinds of places for attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A trait, an `impl` block, a method or a function.
    Item,
    Parameter,
}

/// The properties of an attribute.
struct Properties {
    name: &'static str,
    /// The place where the attribute is allowed, for the error of a misplaced attribute.
    place: &'static str,
    /// The correct form, for the error of a malformed attribute.
    usage: &'static str,
}

impl Keyword {
    /// The attributes that are only allowed inside `#[ai_service]`, `#[tools]` or `#[tool]`.
    const HELPERS: [Self; 15] = [
        Self::SystemMessage,
        Self::UserMessage,
        Self::Moderate,
        Self::InputGuardrails,
        Self::OutputGuardrails,
        Self::Budget,
        Self::MethodTools,
        Self::Retrieval,
        Self::MemoryId,
        Self::V,
        Self::UserName,
        Self::Parameters,
        Self::Context,
        Self::P,
        Self::Tool,
    ];

    /// Returns the keyword of an attribute, or `None` for attributes of others.
    pub(crate) fn of(attribute: &Attribute) -> Option<Self> {
        let name = attribute.path().get_ident()?;
        Self::HELPERS.into_iter().find(|keyword| name == keyword.name())
    }

    /// Returns the keyword that was probably meant by an attribute with another name, such as `#[MemoryId]`.
    ///
    /// Other crates may define attributes for items with any name, so only long names are compared there. A
    /// parameter cannot have an attribute macro.
    pub(crate) fn meant_by(attribute: &Attribute, place: Place) -> Option<Self> {
        let name = attribute.path().get_ident()?.to_string();
        if Self::of(attribute).is_some() || is_built_in(&name) {
            return None;
        }
        let keywords = || Self::HELPERS.into_iter().filter(|keyword| keyword.is_for(place));
        let letters = |name: &str| name.replace('_', "").to_lowercase();
        if let Some(same) = keywords().find(|keyword| letters(keyword.name()) == letters(&name)) {
            return Some(same);
        }
        let shortest = match place {
            Place::Item => 6,
            Place::Parameter => 3,
        };
        let is_long = |name: &&str| name.chars().count() >= shortest;
        let name = Some(name.as_str()).filter(is_long)?;
        let similar = suggest::nearest(name, keywords().map(Self::name).filter(is_long))?;
        keywords().find(|keyword| similar == keyword.name())
    }

    /// Returns whether the attribute is allowed at some place of this kind.
    fn is_for(self, place: Place) -> bool {
        let is_for_items = matches!(
            self,
            Self::Tool
                | Self::SystemMessage
                | Self::UserMessage
                | Self::Moderate
                | Self::InputGuardrails
                | Self::OutputGuardrails
                | Self::Budget
                | Self::MethodTools
                | Self::Retrieval
        );
        is_for_items == (place == Place::Item) || self == Self::UserMessage
    }

    pub(crate) fn name(self) -> &'static str {
        self.properties().name
    }

    pub(crate) fn place(self) -> &'static str {
        self.properties().place
    }

    pub(crate) fn usage(self) -> &'static str {
        self.properties().usage
    }

    /// Returns whether a single name between the parentheses is a value, unless it is a key. Otherwise it is a
    /// misspelled key.
    pub(crate) fn takes_names(self) -> bool {
        matches!(
            self,
            Self::SystemMessage
                | Self::UserMessage
                | Self::InputGuardrails
                | Self::OutputGuardrails
                | Self::MethodTools
                | Self::V
                | Self::P
        )
    }

    fn properties(self) -> Properties {
        const SERVICE: &str = "a trait with `#[ai_service]` or one of its methods";
        const METHOD: &str = "a method of a trait with `#[ai_service]`";
        const PARAMETER: &str = "a parameter of an AI service method";
        const ANY_PARAMETER: &str = "a parameter of an AI service method or of a tool";
        const FUNCTION: &str = "a function, a method in an `impl` block with `#[tools]`, or a method of a trait with `#[ai_service]`";
        let (name, place, usage) = match self {
            Self::AiService => {
                ("ai_service", "a trait", r#"#[ai_service(name = "...", crate = path)]"#)
            }
            Self::Tools => ("tools", "an `impl` block", "#[tools(crate = path)]"),
            Self::Tool => (
                "tool",
                FUNCTION,
                r#"#[tool(name = "...", description = "...", timeout = "30s", sequential, return_immediately, requires_approval, read_only, idempotent, verify = name, key = "{{...}}")]"#,
            ),
            Self::SystemMessage => (
                "system_message",
                SERVICE,
                r#"#[system_message("...")]` or `#[system_message(file = "...")]"#,
            ),
            Self::UserMessage => (
                "user_message",
                "a trait with `#[ai_service]`, one of its methods, or a parameter of a method",
                r#"#[user_message("...")]` or `#[user_message(file = "...")]"#,
            ),
            Self::Moderate => {
                ("moderate", SERVICE, "#[moderate]` or `#[moderate(message, answer)]")
            }
            Self::InputGuardrails => {
                ("input_guardrails", SERVICE, "#[input_guardrails(guardrail, ...)]")
            }
            Self::OutputGuardrails => (
                "output_guardrails",
                SERVICE,
                "#[output_guardrails(guardrail, ..., max_retries = 2)]",
            ),
            Self::Budget => (
                "budget",
                SERVICE,
                r#"#[budget(tool_rounds = 5, tokens = 50_000, running_time = "30s", finish_without_tools)]"#,
            ),
            Self::MethodTools => (
                "tools",
                METHOD,
                r#"#[tools("name", ...)]`, `#[tools("name", ..., choice = required)]` or `#[tools(none)]"#,
            ),
            Self::Retrieval => ("retrieval", METHOD, "#[retrieval(none)]"),
            Self::MemoryId => ("memory_id", ANY_PARAMETER, "#[memory_id]"),
            Self::V => ("v", PARAMETER, r#"#[v]`, `#[v("name")]` or `#[v(json)]"#),
            Self::UserName => ("user_name", PARAMETER, "#[user_name]"),
            Self::Parameters => ("parameters", PARAMETER, "#[parameters]"),
            Self::Context => ("context", ANY_PARAMETER, "#[context]"),
            Self::P => ("p", "a parameter of a tool", r#"#[p("description", default = value)]"#),
        };
        Properties { name, place, usage }
    }
}

/// Returns whether rustc allows the attribute on a parameter.
pub(crate) fn is_built_in(name: &str) -> bool {
    ["cfg", "cfg_attr", "allow", "expect", "warn", "deny", "forbid", "doc"].contains(&name)
}
