//! Anthropic's messages.
