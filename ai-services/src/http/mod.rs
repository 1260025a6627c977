//! HTTP for providers.
