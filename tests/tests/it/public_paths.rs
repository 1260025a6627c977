//! Every public path of the facade: a path that disappears breaks the programs of users.
//!
//! The imports were collected from the `pub use` items of the crate before it was split. A rename changes them
//! together with the table in CHANGELOG.md.
#![allow(unused_imports, reason = "the imports are the test")]

mod root {
    use ai_services::{
        AiService, AiServiceBuilder, AnswerStream, BoxError, ConcurrentCalls, Error, ErrorKind,
        InvocationContext, OutputStrategy, Remembered, Response, Result, StreamEvent, Tool,
        TurnContext, TurnContextBuilder, UnfinishedTurn, ai_service, async_trait, combinators,
        docs, document, embedding, event, guardrail, ingestion, memory, message, model, output,
        prompt, providers, rag, schema, schemars, serde, service, store, testing, tool, tools,
    };
}

mod combinators {
    use ai_services::combinators::{
        CacheErrorPolicy, CacheKey, CachedModel, CachedModelBuilder, CorruptCassette,
        ExistingCassette, FallbackModel, FallbackModelBuilder, InMemoryResponseCache,
        InMemoryResponseCacheBuilder, Jitter, NotRecorded, RateLimitedModel, RateLimiter,
        RateLimiterBuilder, RecordingModel, RecordingModelBuilder, ReplayModel, ReplayModelBuilder,
        ReplayOrder, ReplayUse, ResponseCache, RetryModel, RetryPolicy, RouterModel,
        RouterModelBuilder, StoreResponseCache, WriteErrorPolicy,
    };
}

mod document {
    use ai_services::document::{
        DirectoryLoader, Document, DocumentSplitter, LoadError, LoadErrorKind, MarkdownSplitter,
        Metadata, MetadataValue, RecursiveSplitter, SplitterBuilder, TextMeasure, TextSegment, key,
        load_bytes, load_file, load_text,
    };
}

mod document_key {
    use ai_services::document::key::{
        COLLECTION, DIGEST, FILE_NAME, HEADING, INDEX, PAGE, SEGMENTS, SOURCE, TITLE,
    };
}

mod embedding {
    use ai_services::embedding::{
        Comparison, EmbeddingEntry, EmbeddingModel, EmbeddingPurpose, EmbeddingStore, Embeddings,
        Filter, InMemoryEmbeddingStore, InMemoryEmbeddingStoreBuilder, Key, SearchMatch,
        TextSearch, UnreadableEmbeddings, UnreadableEmbeddingsProblem, VectorSearch,
    };
}

mod event {
    use ai_services::event::{Call, Event};
}

mod guardrail {
    use ai_services::guardrail::{
        ChunkGuardrail, ChunkVerdict, GuardrailFn, GuardrailStage, InjectionSign, InputGuardrail,
        InputGuardrailRequest, InputVerdict, LanguageModelJudge, LanguageModelJudgeBuilder,
        MaxLength, ModerationGuardrail, Objection, OnRejection, OtherKeys, OutputGuardrail,
        OutputGuardrailRequest, OutputVerdict, Placeholders, PromptInjectionPatterns, Redaction,
        Rejection, RetrievedTexts, SensitiveKind, StreamingRedaction, ValidJson,
        input_guardrail_fn, output_guardrail_fn,
    };
}

mod ingestion {
    use ai_services::ingestion::{
        EmbeddingStoreIngestor, EmbeddingStoreIngestorBuilder, IngestionErrorPolicy,
        IngestionFailure, IngestionProgress, IngestionReport, IngestionStopped, MissingSources,
    };
}

mod memory {
    use ai_services::memory::{
        ApproximateCounter, Change, ChatMemory, ChatMemoryStore, CommitState, CompletedTurn,
        Conversation, ConversationLeases, ConversationStore, DEFAULT_ID, EstimatorId,
        EvictedMessages, HistoryEntry, HistoryPosition, InMemoryChatMemoryStore,
        InMemoryChatMemoryStoreBuilder, IntoChatMemory, Lease, LeaseOptions, LeaseRequest,
        LeaseToken, MemoryId, MessageWindowChatMemory, MessageWindowChatMemoryBuilder,
        OpenAiFormula, RawRecord, RequestId, Residence, SingleSlotChatMemoryStore, Snapshot,
        Summarizer, TiktokenCounter, ToMemoryId, TokenCountEstimator, TokenWindowChatMemory,
        TokenWindowChatMemoryBuilder, UnknownCommit, UnreadableProblem, UnreadableRecord,
    };
}

mod message {
    use ai_services::message::{
        AiMessage, AiMessageBuilder, Attributes, AudioContent, ChatMessage, Content, CustomMessage,
        FORMAT_VERSION, ImageContent, ImageDetail, Iter, Media, MediaSource, Messages, PdfContent,
        ProviderContent, SystemMessage, ToContents, ToolCall, ToolResult, UserMessage,
        VideoContent, message_from_json, message_to_json, messages_from_json, messages_to_json,
        messages_to_langchain4j_json,
    };
}

mod model {
    use ai_services::model::{
        AnswerOrigin, Capabilities, Capability, ChatModel, ChatRequest, ChatRequestBuilder,
        ChatRequestParameters, ChatResponse, Cost, EmbeddingModel, EmbeddingPurpose, Embeddings,
        FailedAttempt, FailedAttempts, FinishReason, IncurredCost, ModelStreamEvent, ModelUsage,
        Moderation, ModerationModel, PartialAnswer, Price, PriceTable, ReasoningEffort,
        ResponseFormat, Scores, ScoringModel, TokenUsage, ToolCallDelta, ToolChoice, ToolLoading,
        ToolSpecification, ToolSpecifications, UsageMeter,
    };
}

mod output {
    use ai_services::output::{Output, Shape, UnreadableAnswer};
}

mod prompt {
    use ai_services::prompt::{
        Clock, LocalDateTime, Part, Piece, PromptTemplate, PromptVariables, SystemClock, Template,
        TemplateValue, UserPart, Variable,
    };
}

mod providers {
    #[cfg(feature = "anthropic")]
    use ai_services::providers::anthropic;
    #[cfg(feature = "cohere")]
    use ai_services::providers::cohere;
    #[cfg(feature = "gemini")]
    use ai_services::providers::gemini;
    #[cfg(feature = "ollama")]
    use ai_services::providers::ollama;
    use ai_services::providers::{
        FetchHosts, FetchLimits, ModelName, ThinkingReplay, any_model, fetch_media,
        http_client_builder, openai, reqwest,
    };
}

#[cfg(feature = "anthropic")]
mod providers_anthropic {
    use ai_services::providers::anthropic::{
        AnthropicChatModel, AnthropicChatModelBuilder, CacheLifetime, ParallelToolCalls,
        PromptCaching, Thinking,
    };
}

#[cfg(feature = "cohere")]
mod providers_cohere {
    use ai_services::providers::cohere::{
        CohereEmbeddingModel, CohereEmbeddingModelBuilder, CohereScoringModel,
        CohereScoringModelBuilder, CohereTruncation, RerankDialect, RerankModel,
        RerankModelBuilder,
    };
}

#[cfg(feature = "gemini")]
mod providers_gemini {
    use ai_services::providers::gemini::{
        GeminiChatModel, GeminiChatModelBuilder, GeminiEmbeddingModel, GeminiEmbeddingModelBuilder,
        HarmCategory, HarmThreshold, SchemaDialect, ThoughtSummaries,
    };
}

#[cfg(feature = "ollama")]
mod providers_ollama {
    use ai_services::providers::ollama::{
        KeepAlive, OllamaChatModel, OllamaChatModelBuilder, OllamaEmbeddingModel,
        OllamaEmbeddingModelBuilder, OllamaModel, OllamaModelDetails, OllamaServer,
        OllamaServerBuilder, OllamaTruncation, Think, ThinkingReplay,
    };
}

mod providers_openai {
    use ai_services::providers::openai::{
        EncryptedReasoning, MaxTokensField, OpenAiChatModel, OpenAiChatModelBuilder,
        OpenAiEmbeddingModel, OpenAiEmbeddingModelBuilder, OpenAiModerationModel,
        OpenAiModerationModelBuilder, OpenAiResponsesModel, OpenAiResponsesModelBuilder,
        ParallelToolCalls, ProviderExtensions, ReasoningSummary, ResponseStorage, SchemaMode,
        StreamUsage, ThinkingReplay,
    };
}

mod rag {
    use ai_services::rag::{
        CompressingQueryTransformer, CompressingQueryTransformerBuilder, ContentAggregator,
        ContentInjector, ContentRetriever, DefaultContentInjector, DefaultContentInjectorBuilder,
        DefaultQueryRouter, DefaultQueryTransformer, DefaultRetrievalAugmentor,
        DefaultRetrievalAugmentorBuilder, EmbeddingStoreContentRetriever,
        EmbeddingStoreContentRetrieverBuilder, ExpandingQueryTransformer,
        ExpandingQueryTransformerBuilder, FailurePolicy, LanguageModelQueryRouter,
        LanguageModelQueryRouterBuilder, OriginalQuery, Query, QueryRouter, QueryTransformer,
        QueryTransformerChain, ReRankingContentAggregator, ReRankingContentAggregatorBuilder,
        ReciprocalRankFusion, RetrievalAugmentor, Retrieved, RetrievedContent, Route,
        RoutingFallback, SearchMode, SkippedRetrieval, WebSearchContentRetriever, web_search,
    };
}

mod rag_web_search {
    use ai_services::rag::web_search::{
        SafeSearch, TimeRange, WebSearchContentRetriever, WebSearchEngine, WebSearchRequest,
        WebSearchResult, WebSearchResults, WebSearchTool,
    };
    #[cfg(feature = "web-search")]
    use ai_services::rag::web_search::{
        SearxngSearchEngine, SearxngSearchEngineBuilder, TavilyAnswer, TavilyRawContent,
        TavilySearchDepth, TavilySearchEngine, TavilySearchEngineBuilder, TavilyTopic,
    };
}

mod schema {
    use ai_services::schema::{JsonSchema, Schema, in_order};
}

mod service {
    use ai_services::service::{
        AiService, AiServiceBuilder, AnswerStream, Arguments, ChatModelGiven, ConcurrentCalls,
        DeclaredGuardrails, Given, MemoryGiven, Method, MethodError, MethodReturn, Missing,
        ModerationGiven, Optional, OutputStrategy, PartialStream, RejectedAnswer, Remembered,
        Required, Response, Returned, Service, StreamEvent, StreamReturn, TextStream,
        UnfinishedTurn,
    };
}

mod store {
    #[cfg(feature = "cassandra")]
    use ai_services::store::cassandra;
    #[cfg(feature = "postgres")]
    use ai_services::store::postgres;
    #[cfg(feature = "redis")]
    use ai_services::store::redis;
    #[cfg(feature = "sqlite")]
    use ai_services::store::sqlite;
}

#[cfg(feature = "cassandra")]
mod store_cassandra {
    use ai_services::store::cassandra::{
        CassandraChatMemoryStore, CassandraChatMemoryStoreBuilder, CassandraConsistency,
        CassandraReplication, scylla,
    };
}

#[cfg(feature = "postgres")]
mod store_postgres {
    use ai_services::store::postgres::{
        HnswOptions, PostgresChatMemoryStore, PostgresChatMemoryStoreBuilder,
        PostgresEmbeddingStore, PostgresEmbeddingStoreBuilder, VectorIndex, deadpool_postgres,
        rustls, tokio_postgres,
    };
}

#[cfg(feature = "redis")]
mod store_redis {
    use ai_services::store::redis::{RedisChatMemoryStore, RedisChatMemoryStoreBuilder};
}

#[cfg(feature = "sqlite")]
mod store_sqlite {
    use ai_services::store::sqlite::{
        Durability, SqliteChatMemoryStore, SqliteChatMemoryStoreBuilder, SqliteEmbeddingStore,
        SqliteEmbeddingStoreBuilder,
    };
}

mod testing {
    use ai_services::testing::{
        HashingEmbeddingModel, ScriptedAnswer, ScriptedChatModel, embedding_stores, guardrails,
        stores,
    };
}

mod testing_embedding_stores {
    use ai_services::testing::embedding_stores::{Check, EmbeddingStoreSuite, Outcome, Report};
}

mod testing_guardrails {
    use ai_services::testing::guardrails::{
        CheckInput, CheckOutput, CheckedInput, CheckedOutput, RecordedInput, RecordedOutput,
        ScriptedInputGuardrail, ScriptedOutputGuardrail, check_input, check_output,
    };
}

mod testing_stores {
    use ai_services::testing::stores::{Check, Outcome, Report, StoreSuite};
}

mod tool {
    use ai_services::tool::{
        FromToolInput, IntoToolError, IntoToolOutput, Tool, ToolArguments, ToolArgumentsPolicy,
        ToolError, ToolErrorPolicy, ToolExecution, ToolInput, ToolOutput, ToolParameter,
        ToolProvider, ToolRequest, ToolSet, UnknownToolPolicy,
    };
}
