//! How the model is asked for an answer of the method's type.

use crate::error::{Error, ErrorKind, Result};
use crate::message::{Content, UserMessage};
use crate::model::{
    Capability, ChatModel, ChatRequestParameters, ResponseFormat, ToolChoice, ToolSpecification,
    ToolSpecifications,
};
use crate::output::Shape;
use crate::tool::Toolbox;
use std::sync::Arc;

/// How a model is made to answer with JSON of the right form.
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
    /// The best that the model can: a schema, else a tool, else the prompt.
    #[default]
    Auto,
    /// The schema is sent as the request's response format, and the provider enforces it.
    JsonSchema,
    /// The model is given one more tool, and its arguments are the answer.
    Tool,
    /// The schema is described at the end of the user message. It is sent, but not remembered.
    Prompt,
}

/// How one method asks for its answer.
#[derive(Debug)]
pub(super) struct AnswerForm {
    shape: Shape,
    parameters: Arc<ChatRequestParameters>,
    way: Way,
}

#[derive(Debug)]
enum Way {
    /// As it is, or by the response format in the parameters.
    Plain,
    Tool(Box<AnswerTool>),
    Instruction(String),
}

/// The tool that takes the answer.
#[derive(Debug)]
struct AnswerTool {
    specification: ToolSpecification,
    /// The service's own tools.
    own: ToolSpecifications,
    /// These and this one.
    specifications: ToolSpecifications,
}

/// What a service has that decides about the form of its answers.
pub(super) struct Means<'a> {
    pub(super) model: &'a dyn ChatModel,
    pub(super) strategy: OutputStrategy,
    pub(super) parameters: &'a Arc<ChatRequestParameters>,
    pub(super) toolbox: &'a Toolbox,
    /// Whether tools may be added to those of the toolbox.
    pub(super) has_tool_providers: bool,
}

/// What the strategy comes to with a model.
enum Chosen {
    Schema,
    Tool,
    Prompt,
}

impl AnswerForm {
    /// How a model with these means is asked for an answer of this shape.
    ///
    /// # Errors
    ///
    /// If the strategy needs something that the model cannot do.
    pub(super) fn new(shape: Shape, means: &Means<'_>) -> Result<Self> {
        let parameters = Arc::clone(means.parameters);
        let Some((name, schema)) = shape.schema() else {
            return Ok(Self { shape, parameters, way: Way::Plain });
        };
        let (parameters, way) = match means.choose()? {
            Chosen::Schema => {
                let (name, schema) = (name.into(), Box::new(schema.clone()));
                let format = ResponseFormat::JsonSchema { name, schema };
                (with_format(&parameters, format), Way::Plain)
            }
            Chosen::Tool => {
                let tool = AnswerTool::new(schema, means.toolbox);
                (with_tool_choice(&parameters, &tool, means), Way::Tool(Box::new(tool)))
            }
            Chosen::Prompt if means.can(Capability::JsonObject) => {
                let instruction = shape.json_instructions().unwrap_or_default();
                let parameters = with_format(&parameters, ResponseFormat::JsonObject);
                (parameters, Way::Instruction(instruction))
            }
            Chosen::Prompt => {
                let instruction = shape.instructions().unwrap_or_default();
                (parameters, Way::Instruction(instruction))
            }
        };
        Ok(Self { shape, parameters, way })
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The service's parameters, and those that the form needs.
    pub(super) fn parameters(&self) -> &Arc<ChatRequestParameters> {
        &self.parameters
    }

    /// The name of the tool that takes the answer, if one does.
    pub(super) fn answer_tool(&self) -> Option<&str> {
        match &self.way {
            Way::Tool(tool) => Some(&tool.specification.name),
            _ => None,
        }
    }

    /// The tools that the model is told of.
    pub(super) fn specifications(&self, toolbox: &Toolbox) -> ToolSpecifications {
        match &self.way {
            // The service's own tools, the usual ones, were put together and encoded before.
            Way::Tool(tool) if toolbox.specifications().is_same(&tool.own) => {
                tool.specifications.clone()
            }
            Way::Tool(tool) => tool.beside(toolbox),
            _ => toolbox.specifications().clone(),
        }
    }

    /// Whether the tools leave the name of the tool that takes the answer free.
    ///
    /// # Errors
    ///
    /// If one of them has it.
    pub(super) fn check(&self, toolbox: &Toolbox) -> Result<()> {
        match self.answer_tool().and_then(|name| toolbox.get(name)) {
            Some(tool) => Err(Error::configuration(format!(
                "a tool provider gave a tool the name `{}`, which the tool for the final answer has",
                tool.name()
            ))),
            None => Ok(()),
        }
    }

    /// The user's message with what the model has to be told of the form, if that is said there.
    pub(super) fn instruct(&self, user: &UserMessage) -> Option<UserMessage> {
        let Way::Instruction(instruction) = &self.way else { return None };
        let instructed = match user.text() {
            Some(text) => UserMessage::new(format!("{text}\n\n{instruction}")),
            None => {
                let own = user.contents().iter().cloned();
                UserMessage::from_contents(own.chain([Content::from(instruction.as_str())]))
            }
        };
        Some(match user.name() {
            Some(name) => instructed.with_name(name),
            None => instructed,
        })
    }
}

impl Means<'_> {
    fn can(&self, capability: Capability) -> bool {
        self.model.capabilities().include(capability)
    }

    fn has_tools(&self) -> bool {
        self.has_tool_providers || !self.toolbox.specifications().is_empty()
    }

    fn choose(&self) -> Result<Chosen> {
        let can_follow_schema = self.can(Capability::JsonSchema)
            && (!self.has_tools() || self.can(Capability::JsonSchemaWithTools));
        let can_call_tools = self.can(Capability::Tools);
        match self.strategy {
            OutputStrategy::Auto | OutputStrategy::JsonSchema if can_follow_schema => {
                Ok(Chosen::Schema)
            }
            OutputStrategy::Auto | OutputStrategy::Tool if can_call_tools => Ok(Chosen::Tool),
            OutputStrategy::Auto | OutputStrategy::Prompt => Ok(Chosen::Prompt),
            OutputStrategy::JsonSchema => {
                let beside = if self.has_tools() { " beside tools" } else { "" };
                Err(self.cannot(&format!("follow a JSON schema{beside}")))
            }
            OutputStrategy::Tool => Err(self.cannot("call tools")),
        }
    }

    fn cannot(&self, what: &str) -> Error {
        let (name, strategy) = (self.model.name(), self.strategy);
        Error::new(
            ErrorKind::Unsupported,
            format!(
                "model `{name}` cannot {what}, which `OutputStrategy::{strategy:?}` needs; use `OutputStrategy::Auto`"
            ),
        )
    }
}

impl AnswerTool {
    /// The name, unless a tool of the service has it.
    const NAME: &str = "final_answer";

    fn new(schema: &crate::schema::Schema, toolbox: &Toolbox) -> Self {
        let mut name = Self::NAME.to_owned();
        while toolbox.get(&name).is_some() {
            name.push('_');
        }
        let description = "Gives the final answer. Call it once, alone, when you know everything that the answer needs.";
        let specification =
            ToolSpecification::new(name, description).with_parameters(schema.clone());
        let own = toolbox.specifications().clone();
        let mut tool = Self { specification, own, specifications: ToolSpecifications::default() };
        tool.specifications = tool.beside(toolbox);
        tool
    }

    fn beside(&self, toolbox: &Toolbox) -> ToolSpecifications {
        let own = toolbox.specifications().as_slice().iter();
        own.chain([&self.specification]).cloned().collect::<Vec<_>>().into()
    }
}

/// The parameters with a response format, unless the service sets one itself.
fn with_format(
    parameters: &Arc<ChatRequestParameters>,
    format: ResponseFormat,
) -> Arc<ChatRequestParameters> {
    let own = ChatRequestParameters::new().response_format(format);
    Arc::new(parameters.or(&own))
}

/// Without a choice the model would answer in words.
fn with_tool_choice(
    parameters: &Arc<ChatRequestParameters>,
    tool: &AnswerTool,
    means: &Means<'_>,
) -> Arc<ChatRequestParameters> {
    if !means.can(Capability::ToolChoice) {
        return Arc::clone(parameters);
    }
    let choice = match means.has_tools() {
        true => ToolChoice::Required,
        false => ToolChoice::Tool(tool.specification.name.clone()),
    };
    Arc::new(parameters.or(&ChatRequestParameters::new().tool_choice(choice)))
}
