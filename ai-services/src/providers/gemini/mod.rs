//! Google's Gemini.
