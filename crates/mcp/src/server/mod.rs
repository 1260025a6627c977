//! An MCP server for tools and services.
