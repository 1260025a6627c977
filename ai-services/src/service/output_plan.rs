//! The mechanism by which the model returns an answer of the method's type.

use super::method_tools::MethodTools;
use crate::message::{Content, UserMessage};
use crate::model::{
    Capability, ChatModel, ChatRequestParameters, ResponseFormat, ToolChoice, ToolSpecification,
    ToolSpecifications,
};
use crate::output::Shape;
use crate::schema::Schema;
use crate::tool::Toolbox;
use crate::{Error, ErrorKind, Result};
use std::sync::Arc;

/// The mechanism by which a model returns JSON of the required form.
///
/// # Examples
///
/// ```
/// use ai_services::testing::ScriptedChatModel;
/// use ai_services::{OutputStrategy, ai_service};
///
/// #[ai_service]
/// trait Counter {
///     #[user_message("How many legs has {{it}}?")]
///     async fn legs(&self, animal: &str) -> ai_services::Result<u8>;
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> ai_services::Result<()> {
/// let model = ScriptedChatModel::replies(["8"]);
/// let counter = CounterService::builder()
///     .chat_model(model.clone())
///     .output_strategy(OutputStrategy::Prompt)
///     .build()?;
/// assert_eq!(counter.legs("a spider").await?, 8);
/// assert!(model.messages_of(0)[0].text().is_some_and(|text| text.contains("integer")));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputStrategy {
    /// The best mechanism of the model: a schema, else a tool, else the prompt.
    #[default]
    Auto,
    /// The schema is sent as the response format of the request. The provider enforces it.
    JsonSchema,
    /// The model gets an additional tool. The arguments of that tool are the answer.
    Tool,
    /// The schema is described at the end of the user message. It is sent, but not remembered.
    Prompt,
}

/// The output settings of one method.
#[derive(Debug)]
pub(super) struct OutputPlan {
    shape: Shape,
    parameters: Arc<ChatRequestParameters>,
    mechanism: Mechanism,
}

/// The part of a request that produces an answer of the required form.
#[derive(Debug)]
enum Mechanism {
    /// None, or the response format in the parameters.
    Parameters,
    /// The arguments of a tool are the answer.
    Tool(Box<AnswerTool>),
    /// Instructions at the end of the user message.
    Prompt(String),
}

/// The tool whose arguments are the answer.
#[derive(Debug)]
struct AnswerTool {
    specification: ToolSpecification,
    /// The method's own tools.
    own: ToolSpecifications,
    /// The method's own tools and this one.
    specifications: ToolSpecifications,
    /// `true` if the application requires a call of another tool first.
    follows_others: bool,
}

/// The abilities of the model and the settings that decide on the [`Mechanism`].
pub(super) struct ModelAbilities<'a> {
    pub(super) model: &'a dyn ChatModel,
    pub(super) strategy: OutputStrategy,
    pub(super) parameters: &'a Arc<ChatRequestParameters>,
    pub(super) tools: &'a MethodTools,
}

/// The kind of a [`Mechanism`] with a schema.
enum MechanismKind {
    JsonSchema,
    Tool,
    Prompt,
}

impl OutputPlan {
    /// Plans answers of this shape for a model with these abilities.
    ///
    /// # Errors
    ///
    /// If the strategy needs an ability that the model does not have.
    pub(super) fn new(shape: Shape, abilities: &ModelAbilities<'_>) -> Result<Self> {
        let parameters = Arc::clone(abilities.parameters);
        let Some((name, schema)) = shape.schema() else {
            return Ok(Self { shape, parameters, mechanism: Mechanism::Parameters });
        };
        let (parameters, mechanism) = match abilities.mechanism()? {
            MechanismKind::JsonSchema => {
                let (name, schema) = (name.into(), Box::new(schema.clone()));
                let format = ResponseFormat::JsonSchema { name, schema };
                (with_format(&parameters, format), Mechanism::Parameters)
            }
            MechanismKind::Tool => {
                let mut tool = AnswerTool::new(schema, abilities.tools.own());
                tool.follows_others = parameters.tool_choice == Some(ToolChoice::Required);
                let parameters = with_tool_choice(&parameters, &tool, abilities);
                (parameters, Mechanism::Tool(Box::new(tool)))
            }
            MechanismKind::Prompt if abilities.contains(Capability::JsonObject) => {
                let instructions = shape.json_instructions().unwrap_or_default();
                let parameters = with_format(&parameters, ResponseFormat::JsonObject);
                (parameters, Mechanism::Prompt(instructions))
            }
            MechanismKind::Prompt => {
                let instructions = shape.instructions().unwrap_or_default();
                (parameters, Mechanism::Prompt(instructions))
            }
        };
        Ok(Self { shape, parameters, mechanism })
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the service's parameters with those of the mechanism.
    pub(super) fn parameters(&self) -> &Arc<ChatRequestParameters> {
        &self.parameters
    }

    /// Returns the name of the tool whose arguments are the answer, if there is one.
    pub(super) fn answer_tool(&self) -> Option<&str> {
        match &self.mechanism {
            Mechanism::Tool(tool) => Some(&tool.specification.name),
            Mechanism::Parameters | Mechanism::Prompt(_) => None,
        }
    }

    /// Returns the tools of the first request. If a tool call is required, the tool for the answer is not among them:
    /// the model would call it instead of the others.
    pub(super) fn first_specifications(
        &self,
        toolbox: &Toolbox,
        choice: Option<&ToolChoice>,
    ) -> ToolSpecifications {
        match &self.mechanism {
            Mechanism::Tool(tool)
                if tool.follows_others
                    && choice == Some(&ToolChoice::Required)
                    && !toolbox.is_empty() =>
            {
                toolbox.specifications().clone()
            }
            _ => self.specifications(toolbox),
        }
    }

    /// Returns `true` if the tool for the answer may be added after the first request.
    pub(super) fn adds_answer_tool(&self) -> bool {
        matches!(&self.mechanism, Mechanism::Tool(tool) if tool.follows_others)
    }

    /// Returns `true` if these tools lack the one for the answer.
    pub(super) fn lacks_answer_tool(&self, tools: &ToolSpecifications) -> bool {
        self.adds_answer_tool()
            && !tools.as_slice().iter().any(|tool| Some(&*tool.name) == self.answer_tool())
    }

    /// Returns the tools to send to the model.
    pub(super) fn specifications(&self, toolbox: &Toolbox) -> ToolSpecifications {
        match &self.mechanism {
            // The method's own tools, the usual ones, were combined and encoded before.
            Mechanism::Tool(tool) if toolbox.specifications().is_same(&tool.own) => {
                tool.specifications.clone()
            }
            Mechanism::Tool(tool) => tool.added_to(toolbox),
            Mechanism::Parameters | Mechanism::Prompt(_) => toolbox.specifications().clone(),
        }
    }

    /// Checks that no tool has the name of the tool whose arguments are the answer.
    ///
    /// # Errors
    ///
    /// If a tool has this name.
    pub(super) fn check(&self, toolbox: &Toolbox) -> Result<()> {
        match self.answer_tool().and_then(|name| toolbox.get(name)) {
            Some(tool) => Err(Error::configuration(format!(
                "a tool provider returned a tool named `{}`, which is the name of the tool for the final answer",
                tool.name()
            ))),
            None => Ok(()),
        }
    }

    /// Returns the user message with instructions, if the mechanism needs them.
    pub(super) fn instruct(&self, user: &UserMessage) -> Option<UserMessage> {
        let Mechanism::Prompt(instructions) = &self.mechanism else { return None };
        let instructed = match user.text() {
            Some(text) => UserMessage::new(format!("{text}\n\n{instructions}")),
            None => {
                let own = user.contents().iter().cloned();
                UserMessage::from_contents(own.chain([Content::from(instructions.as_str())]))
            }
        };
        Some(match user.name() {
            Some(name) => instructed.with_name(name),
            None => instructed,
        })
    }
}

impl ModelAbilities<'_> {
    pub(super) fn contains(&self, capability: Capability) -> bool {
        self.model.capabilities().contains(capability)
    }

    fn mechanism(&self) -> Result<MechanismKind> {
        let can_follow_schema = self.contains(Capability::JsonSchema)
            && (!self.tools.may_exist() || self.contains(Capability::JsonSchemaWithTools));
        let can_call_tools = self.contains(Capability::Tools);
        match self.strategy {
            OutputStrategy::Auto | OutputStrategy::JsonSchema if can_follow_schema => {
                Ok(MechanismKind::JsonSchema)
            }
            OutputStrategy::Auto | OutputStrategy::Tool if can_call_tools => {
                Ok(MechanismKind::Tool)
            }
            OutputStrategy::Auto | OutputStrategy::Prompt => Ok(MechanismKind::Prompt),
            OutputStrategy::JsonSchema => {
                let with_tools = if self.tools.may_exist() { " together with tools" } else { "" };
                Err(self.unsupported(&format!("follow a JSON schema{with_tools}")))
            }
            OutputStrategy::Tool => Err(self.unsupported("call tools")),
        }
    }

    fn unsupported(&self, ability: &str) -> Error {
        let (name, strategy) = (self.model.name(), self.strategy);
        Error::new(
            ErrorKind::Unsupported,
            format!(
                "model `{name}` cannot {ability}, which `OutputStrategy::{strategy:?}` needs; use `OutputStrategy::Auto`"
            ),
        )
    }
}

impl AnswerTool {
    /// The name. Underscores are appended while a tool of the service has it.
    const NAME: &str = "final_answer";

    fn new(schema: &Schema, toolbox: &Toolbox) -> Self {
        let mut name = Self::NAME.to_owned();
        while toolbox.get(&name).is_some() {
            name.push('_');
        }
        let description = "Gives the final answer. Call it once, alone, when you know everything that the answer needs.";
        let specification =
            ToolSpecification::new(name, description).with_parameters(schema.clone());
        let own = toolbox.specifications().clone();
        let specifications = ToolSpecifications::default();
        let mut tool = Self { specification, own, specifications, follows_others: false };
        tool.specifications = tool.added_to(toolbox);
        tool
    }

    fn added_to(&self, toolbox: &Toolbox) -> ToolSpecifications {
        let own = toolbox.specifications().as_slice().iter();
        own.chain([&self.specification]).cloned().collect::<Vec<_>>().into()
    }
}

/// Adds a response format, unless the service sets one itself.
fn with_format(
    parameters: &Arc<ChatRequestParameters>,
    format: ResponseFormat,
) -> Arc<ChatRequestParameters> {
    let own = ChatRequestParameters::new().response_format(format);
    Arc::new(parameters.or(&own))
}

/// Adds a tool choice: without one the model could answer with text.
fn with_tool_choice(
    parameters: &Arc<ChatRequestParameters>,
    tool: &AnswerTool,
    abilities: &ModelAbilities<'_>,
) -> Arc<ChatRequestParameters> {
    if !abilities.contains(Capability::ToolChoice) {
        return Arc::clone(parameters);
    }
    let choice = if abilities.tools.may_exist() {
        ToolChoice::Required
    } else {
        ToolChoice::Tool(tool.specification.name.clone())
    };
    Arc::new(parameters.or(&ChatRequestParameters::new().tool_choice(choice)))
}
