//! Clients of providers.
