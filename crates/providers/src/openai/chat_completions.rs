//! OpenAI's chat completions.

use super::options::Options;
use super::stream::ChatAssembly;
use super::{parameters, request};
use crate::http::Endpoint;
use crate::protocol::client::Protocol;
use crate::protocol::request_body::ListPrefix;
use crate::protocol::request_prefix::Delivery;
use ai_services_core::Result;
use ai_services_core::model::{Capabilities, Capability, ChatRequest, ChatRequestParameters};

/// The protocol of chat completions at one server.
pub(super) struct ChatCompletions {
    pub(super) endpoint: Endpoint,
    pub(super) options: Options,
}

impl Protocol for ChatCompletions {
    type Prefix = ListPrefix;
    type Assembly = ChatAssembly;

    const PROVIDER: &'static str = "openai";

    fn checked_capabilities(model: Capabilities) -> Capabilities {
        model.with(Capability::Videos)
    }

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn prefix(
        &self,
        parameters: &ChatRequestParameters,
        model: &str,
        delivery: Delivery,
    ) -> ListPrefix {
        parameters::prefix(parameters, model, &self.options, delivery)
    }

    fn body(&self, request: &ChatRequest, prefix: &ListPrefix) -> Result<Vec<u8>> {
        request::body(request, prefix, &self.options)
    }
}

/// Returns the capabilities of a server. llama.cpp, for example, rejects a schema beside tools.
pub(super) fn default_capabilities(is_official: bool) -> Capabilities {
    let all = Capabilities::of([
        Capability::Tools,
        Capability::JsonSchema,
        Capability::JsonObject,
        Capability::Streaming,
        Capability::Images,
        Capability::Audio,
        Capability::Pdfs,
        Capability::ToolChoice,
    ]);
    if is_official { all.with(Capability::JsonSchemaWithTools) } else { all }
}

/// Returns the events of a streamed answer that is already in memory.
#[cfg(feature = "_fuzzing")]
pub(crate) fn read_pieces(
    pieces: impl IntoIterator<Item = Vec<u8>>,
) -> Vec<Result<ai_services_core::model::ModelStreamEvent>> {
    crate::protocol::stream::read_pieces(ChatAssembly::default(), pieces)
}
