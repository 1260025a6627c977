//! Cohere's embeddings and re-ranking, and servers compatible with the latter.
