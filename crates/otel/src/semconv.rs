//! The names of OpenTelemetry's semantic conventions for generative AI, **v1.41.1**, as far as this crate sets
//! attributes and metrics itself. The spans of the framework have the other names as fields.
//!
//! The metrics of agents and tools have no name in v1.41.1. They have those of the conventions that follow it.

/// Name of a conversation.
pub(crate) const CONVERSATION_ID: &str = "gen_ai.conversation.id";
pub(crate) const OPERATION_NAME: &str = "gen_ai.operation.name";
pub(crate) const PROVIDER_NAME: &str = "gen_ai.provider.name";
pub(crate) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(crate) const SERVER_ADDRESS: &str = "server.address";
pub(crate) const SERVER_PORT: &str = "server.port";
pub(crate) const AGENT_NAME: &str = "gen_ai.agent.name";
pub(crate) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(crate) const ERROR_TYPE: &str = "error.type";
pub(crate) const TOKEN_TYPE: &str = "gen_ai.token.type";
pub(crate) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(crate) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(crate) const TIME_TO_FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";

// Lists.
pub(crate) const STOP_SEQUENCES: &str = "gen_ai.request.stop_sequences";
pub(crate) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";

// Content.
pub(crate) const SYSTEM_INSTRUCTIONS: &str = "gen_ai.system_instructions";
pub(crate) const INPUT_MESSAGES: &str = "gen_ai.input.messages";
pub(crate) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub(crate) const TOOL_DEFINITIONS: &str = "gen_ai.tool.definitions";
pub(crate) const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(crate) const TOOL_RESULT: &str = "gen_ai.tool.call.result";
pub(crate) const RETRIEVAL_DOCUMENTS: &str = "gen_ai.retrieval.documents";

// Events.
pub(crate) const EXCEPTION_EVENT: &str = "gen_ai.client.operation.exception";
pub(crate) const EXCEPTION_TYPE: &str = "exception.type";

// Metrics.
pub(crate) const OPERATION_DURATION: &str = "gen_ai.client.operation.duration";
pub(crate) const TOKEN_USAGE: &str = "gen_ai.client.token.usage";
pub(crate) const FIRST_CHUNK: &str = "gen_ai.client.operation.time_to_first_chunk";
pub(crate) const PER_CHUNK: &str = "gen_ai.client.operation.time_per_output_chunk";
pub(crate) const AGENT_DURATION: &str = "gen_ai.invoke_agent.duration";
pub(crate) const AGENT_INFERENCE_CALLS: &str = "gen_ai.invoke_agent.inference_calls";
pub(crate) const AGENT_TOOL_CALLS: &str = "gen_ai.invoke_agent.tool_calls";
pub(crate) const TOOL_DURATION: &str = "gen_ai.execute_tool.duration";

/// Upper bounds of the buckets of durations, in seconds.
pub(crate) const SECONDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// Upper bounds of the buckets of token counts.
pub(crate) const TOKENS: [f64; 14] = [
    1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0,
    16777216.0, 67108864.0,
];

/// Upper bounds of the buckets of calls in a turn. The conventions define none.
pub(crate) const CALLS: [f64; 8] = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

// Own attributes that the metrics need.
pub(crate) const ORIGIN: &str = "ai_services.response.origin";
pub(crate) const CHUNKS: &str = "ai_services.response.chunks";
pub(crate) const STREAMING_TIME: &str = "ai_services.response.streaming_time";
