//! The service that answers questions, and the output of its answers.

use super::documents::source::LINES;
use super::filter::Filter;
use super::render;
use ai_services::document::{Metadata, key};
use ai_services::model::ChatModel;
use ai_services::prompt::PromptTemplate;
use ai_services::rag::{
    DefaultContentInjector, DefaultRetrievalAugmentor, EmbeddingStoreContentRetriever,
    RetrievedContent, Route,
};
use ai_services::{AnswerStream, StreamEvent, ai_service};
use std::io::{self, Write};
use std::sync::Arc;

/// Templates of the message and of each passage.
const MESSAGE: &str = "{{contents}}\n\nQuestion: {{user_message}}";
const PASSAGE: &str =
    "<passage number=\"{{number}}\" source=\"{{metadata.source}}\">\n{{content}}\n</passage>";

#[ai_service]
#[system_message(
    "You answer questions from numbered passages. Use only what they say, and put the numbers of the",
    "passages that you use behind each statement, like [2]. If they do not have the answer, say so.",
    delimiter = " "
)]
pub(crate) trait Librarian {
    fn answer(&self, question: &str) -> AnswerStream;
}

/// Builds a service that retrieves passages for each question.
pub(crate) fn librarian(
    model: Arc<dyn ChatModel>,
    retriever: EmbeddingStoreContentRetriever,
) -> ai_services::Result<LibrarianService> {
    let injector = DefaultContentInjector::builder()
        .template(PromptTemplate::parse(MESSAGE)?)
        .content_template(PromptTemplate::parse(PASSAGE)?)
        .build()?;
    let augmentor = DefaultRetrievalAugmentor::builder()
        .content_retriever(Route::new(retriever).name("index"))
        .content_injector(injector)
        .build()?;
    LibrarianService::builder().chat_model(model).retrieval_augmentor(augmentor).build()
}

/// Prints the answer while it arrives, and returns its sources.
pub(crate) async fn answer(
    librarian: &LibrarianService,
    question: &str,
) -> anyhow::Result<Vec<RetrievedContent>> {
    let mut out = io::stdout();
    let mut filter = Filter::default();
    let mut events = librarian.answer(question);
    let mut sources = Vec::new();
    while let Some(event) = events.next().await {
        match event? {
            StreamEvent::Retrieved(found) => sources = found,
            StreamEvent::Text(piece) => {
                out.write_all(filter.push(&piece).as_bytes())?;
                out.flush()?;
            }
            _ => {}
        }
    }
    writeln!(out, "{}\n", filter.finish())?;
    Ok(sources)
}

/// Prints the sources with the numbers of the citations.
pub(crate) fn show(sources: &[RetrievedContent]) -> io::Result<()> {
    let mut out = io::stdout();
    for (source, number) in sources.iter().zip(1..) {
        let score = source.score.map(|score| format!(" (score {score:.3})")).unwrap_or_default();
        let origin = render::plain(&origin(source.segment.metadata()));
        writeln!(out, "[{number}] {origin}{score}")?;
    }
    out.flush()
}

/// Describes the origin of a passage.
fn origin(metadata: &Metadata) -> String {
    let text = |key| metadata.get(key).map(ToString::to_string);
    let mut origin = text(key::SOURCE).unwrap_or_default();
    let location = text(key::PAGE).map(|page| format!("page {page}"));
    let location = location.or_else(|| text(LINES).map(|lines| format!("lines {lines}")));
    for detail in [location, text(key::HEADING).or_else(|| text(key::TITLE))].into_iter().flatten()
    {
        origin += ", ";
        origin += &detail;
    }
    origin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_has_all_known_details() {
        let file = |name: &str| Metadata::new().with(key::SOURCE, name);
        assert_eq!(origin(&file("a.html").with(key::TITLE, "Tea")), "a.html, Tea");
        assert_eq!(origin(&file("a.txt").with(LINES, "3-4")), "a.txt, lines 3-4");
        assert_eq!(origin(&file("a.pdf").with(key::PAGE, 7)), "a.pdf, page 7");
        let titled = file("a.md").with(key::TITLE, "Tea").with(key::HEADING, "Tea > Green");
        assert_eq!(origin(&titled), "a.md, Tea > Green");
    }
}
