//! Prompts.

use crate::call;
use crate::media::{PDF, image};
use ai_services::message::PdfContent;
use ai_services::schema::JsonSchema;
use ai_services::tool::{ToolError, ToolOutput};
use ai_services::{InvocationContext, tools};
use serde::Deserialize;

/// Prompts of all kinds.
pub(crate) struct Prompts;

#[tools]
impl Prompts {
    /// A prompt without arguments.
    #[tool(read_only)]
    async fn test_simple_prompt(&self) -> &'static str {
        "This is a simple prompt for testing."
    }

    /// A prompt with arguments.
    #[tool(read_only)]
    async fn test_prompt_with_arguments(
        &self,
        /// First test argument
        arg1: String,
        /// Second test argument
        arg2: String,
    ) -> String {
        format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
    }

    /// A prompt with a document.
    #[tool(read_only)]
    async fn test_prompt_with_embedded_resource(
        &self,
        /// URI of the resource
        #[expect(non_snake_case, reason = "the name in the suite")]
        resourceUri: String,
    ) -> ToolOutput {
        let document = PdfContent::base64(PDF, "application/pdf").into();
        ToolOutput::contents([document, format!("Please process {resourceUri}.").into()])
    }

    /// A prompt with an image.
    #[tool(read_only)]
    async fn test_prompt_with_image(&self) -> ToolOutput {
        ToolOutput::contents([image().into(), "Please analyze the image above.".into()])
    }

    /// A prompt that asks the user of the client.
    #[tool(read_only)]
    async fn test_input_required_result_prompt(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let message = "What context should the prompt use?";
        let name = call(context)?.elicit::<Topic>("user_context", message).await?;
        Ok(format!("Explain {}.", name.map_or_else(String::new, |topic| topic.context)))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Topic {
    context: String,
}
