//! Tools that ask the client.

use crate::call;
use ai_services::schema::JsonSchema;
use ai_services::tool::{ToolError, ToolInput, ToolProgress};
use ai_services::{InvocationContext, tools};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Color {
    color: String,
}

#[derive(Deserialize, JsonSchema)]
struct Consent {
    ok: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Account {
    /// User's response
    username: String,
    /// User's email address
    email: String,
}

/// Tools that ask the client.
pub(crate) struct Questions;

#[tools]
impl Questions {
    /// Asks for a name.
    #[tool(read_only)]
    async fn test_input_required_result_elicitation(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let name = call(context)?.elicit::<Name>("user_name", "What is your name?").await?;
        Ok(name.map_or_else(|| "Hello!".to_owned(), |name| format!("Hello, {}!", name.name)))
    }

    /// Asks the model of the client.
    #[tool(read_only)]
    async fn test_input_required_result_sampling(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        sample(context, "capital_question", "What is the capital of France?").await
    }

    /// Asks for the roots of the client.
    #[tool(read_only)]
    async fn test_input_required_result_list_roots(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let roots = call(context)?.raw_request("client_roots", "roots/list", json!({})).await?;
        Ok(format!("The roots are {}.", roots["roots"]))
    }

    /// Asks for consent.
    #[tool(read_only)]
    async fn test_input_required_result_request_state(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let consent = call(context)?.elicit::<Consent>("confirm", "Please confirm").await?;
        Ok(format!("state-ok, ok={}", consent.is_some_and(|consent| consent.ok)))
    }

    /// Asks for consent, and rejects a state that the client has changed.
    #[tool(read_only)]
    async fn test_input_required_result_tampered_state(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        self.test_input_required_result_request_state(context).await
    }

    /// Asks three questions at once.
    #[tool(read_only)]
    async fn test_input_required_result_multiple_inputs(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let call = call(context)?;
        let (name, greeting, roots) = tokio::join!(
            call.elicit::<Name>("user_name", "What is your name?"),
            sample(context, "greeting", "Generate a greeting"),
            call.raw_request("client_roots", "roots/list", json!({})),
        );
        let name = name?.map_or_else(String::new, |name| name.name);
        Ok(format!("{}, {name}! Your roots are {}.", greeting?, roots?["roots"]))
    }

    /// Asks two questions, one after the other.
    #[tool(read_only)]
    async fn test_input_required_result_multi_round(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let call = call(context)?;
        let name = call.elicit::<Name>("step1", "Step 1: What is your name?").await?;
        let color = call.elicit::<Color>("step2", "Step 2: What is your favorite color?").await?;
        let name = name.map_or_else(String::new, |name| name.name);
        Ok(format!("{name} likes {}.", color.map_or_else(String::new, |color| color.color)))
    }

    /// Asks the user or the model, depending on the client.
    #[tool(read_only)]
    async fn test_input_required_result_capabilities(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        if call(context)?.supports_elicitation() {
            return self.test_input_required_result_elicitation(context).await;
        }
        self.test_input_required_result_sampling(context).await
    }

    /// Needs a client with a model.
    #[tool(read_only)]
    async fn test_missing_capability(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        self.test_input_required_result_sampling(context).await
    }

    /// Asks for a name after it has reported progress.
    #[tool(read_only)]
    async fn test_streaming_elicitation(
        &self,
        #[context] input: &ToolInput,
    ) -> Result<String, ToolError> {
        input.report(ToolProgress::new(1.0));
        self.test_input_required_result_elicitation(input.context()).await
    }

    /// Asks the model of the client.
    #[tool(read_only)]
    async fn test_sampling(
        &self,
        /// The prompt for the model.
        prompt: String,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        Ok(format!("LLM response: {}", sample(context, "prompt", &prompt).await?))
    }

    /// Asks the user of the client.
    #[tool(read_only)]
    async fn test_elicitation(
        &self,
        /// The question.
        message: String,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let account = call(context)?.elicit::<Account>("account", &message).await?;
        let answer = account.map(|account| format!("{} <{}>", account.username, account.email));
        Ok(format!("User response: {answer:?}"))
    }

    /// Asks the user of the client, with default values.
    #[tool(read_only)]
    async fn test_elicitation_sep1034_defaults(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let properties = json!({
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true },
        });
        raw_form(context, &properties).await
    }

    /// Asks the user of the client to choose.
    #[tool(read_only)]
    async fn test_elicitation_sep1330_enums(
        &self,
        #[context] context: &InvocationContext,
    ) -> Result<String, ToolError> {
        let options = json!(["option1", "option2", "option3"]);
        let titled = json!([
            { "const": "value1", "title": "First Option" },
            { "const": "value2", "title": "Second Option" },
            { "const": "value3", "title": "Third Option" },
        ]);
        let properties = json!({
            "untitledSingle": { "type": "string", "enum": options },
            "titledSingle": { "type": "string", "oneOf": titled },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled } },
        });
        raw_form(context, &properties).await
    }
}

/// Sends a prompt to the model of the client.
async fn sample(context: &InvocationContext, key: &str, prompt: &str) -> Result<String, ToolError> {
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    let params = json!({ "messages": [message], "maxTokens": 100 });
    let answer = call(context)?.raw_request(key, "sampling/createMessage", params).await?;
    Ok(answer["content"]["text"].as_str().unwrap_or_default().to_owned())
}

/// Shows a form whose schema no Rust type has.
async fn raw_form(context: &InvocationContext, properties: &Value) -> Result<String, ToolError> {
    let schema = json!({ "type": "object", "properties": properties });
    let params = json!({ "message": "Please answer", "requestedSchema": schema });
    let answer = call(context)?.raw_request("form", "elicitation/create", params).await?;
    let action = answer["action"].as_str().unwrap_or_default();
    Ok(format!("Elicitation completed: action={action}, content={}", answer["content"]))
}
