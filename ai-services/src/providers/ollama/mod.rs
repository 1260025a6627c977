//! Ollama's own protocol.
