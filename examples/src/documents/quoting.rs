//! Demonstration model for documents: quotes the sentences that contain the words of the question.

use super::documents::words::words;
use ai_services::Result;
use ai_services::message::AiMessage;
use ai_services::model::{
    Capabilities, Capability, ChatModel, ChatRequest, ChatResponse, ModelStreamEvent,
};
use futures_util::stream::{self, BoxStream, StreamExt};
use std::collections::{BTreeSet, HashMap};

/// Maximum number of quoted sentences.
const MAX_QUOTES: usize = 2;

/// Minimum score of a second sentence, relative to the best one.
const MIN_RELATIVE_SCORE: f64 = 0.6;

/// A chat model without a network that quotes from the passages of a request. It expects them in the form
/// `<passage number="1" …>`.
pub(crate) struct QuotingModel;

#[ai_services::async_trait]
impl ChatModel for QuotingModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let question = request.messages().rfind(|message| message.is_user());
        let answer = answer(question.and_then(|message| message.text()).unwrap_or_default());
        Ok(ChatResponse::new(AiMessage::new(answer)))
    }

    /// Streams the answer word by word.
    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        let response = async move {
            let response = self.chat(request).await?;
            let text = response.message.text().unwrap_or_default();
            let words =
                text.split_inclusive(' ').map(|word| ModelStreamEvent::Text(word.to_owned()));
            let mut events: Vec<_> = words.map(Ok).collect();
            events.push(Ok(ModelStreamEvent::Completed(Box::new(response))));
            Ok(stream::iter(events))
        };
        let events = stream::once(response).flat_map(|events: Result<_>| match events {
            Ok(events) => events.boxed(),
            Err(error) => stream::iter([Err(error)]).boxed(),
        });
        events.boxed()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::of([Capability::Streaming])
    }

    fn name(&self) -> &str {
        "demo"
    }
}

/// Maximum length of a quoted sentence, in bytes.
const MAX_SENTENCE_BYTES: usize = 400;

/// A sentence with the number of its passage.
struct Sentence {
    number: usize,
    text: String,
    words: BTreeSet<String>,
}

fn answer(message: &str) -> String {
    let (passages, question) = parts(message);
    let sentences: Vec<Sentence> = passages.into_iter().flat_map(sentences).collect();
    let rarity = rarity(&sentences);
    let question_words: BTreeSet<String> = words(question).into_iter().collect();
    let score = |sentence: &Sentence| {
        let shared = sentence.words.intersection(&question_words);
        let shared: f64 = shared.filter_map(|word| rarity.get(word)).sum();
        // Of sentences with the same words, prefer the one in the better passage.
        shared * (1.0 + 0.5 / sentence.number as f64)
    };
    let mut scored: Vec<(f64, Sentence)> =
        sentences.into_iter().map(|sentence| (score(&sentence), sentence)).collect();
    scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let best = scored.first().map_or(0.0, |(score, _)| *score);
    if best == 0.0 {
        return "No passage contains the words of the question; the nearest passages are listed below."
            .to_owned();
    }
    let mut remaining = question_words.clone();
    // A second sentence must contain a further word of the question.
    let is_new = |(_, sentence): &(f64, Sentence)| {
        let before = remaining.len();
        remaining.retain(|word| !sentence.words.contains(word));
        remaining.len() < before
    };
    let good = scored.into_iter().take_while(|(score, _)| *score >= best * MIN_RELATIVE_SCORE);
    let quotes = good.filter(is_new).take(MAX_QUOTES);
    let quotes = quotes.map(|(_, Sentence { number, text, .. })| format!("{text} [{number}]"));
    quotes.collect::<Vec<_>>().join("\n")
}

/// Splits a message into its numbered passages and the question after them.
fn parts(message: &str) -> (Vec<(usize, &str)>, &str) {
    let (mut passages, mut rest) = (Vec::new(), message);
    loop {
        let opening = format!("<passage number=\"{}\"", passages.len() + 1);
        let opened = rest.split_once(&opening).and_then(|(_, rest)| rest.split_once(">\n"));
        let Some((text, after)) = opened.and_then(|(_, rest)| rest.split_once("\n</passage>"))
        else {
            let question = rest.rsplit_once("Question: ").map_or(rest, |(_, question)| question);
            return (passages, question);
        };
        passages.push((passages.len() + 1, text));
        rest = after;
    }
}

/// Returns the sentences and table rows of a passage, without headings.
fn sentences((number, text): (usize, &str)) -> Vec<Sentence> {
    let mut found: Vec<String> = Vec::new();
    for paragraph in text.split("\n\n") {
        let is_row = |line: &&str| line.trim_start().starts_with('|');
        let rows: Vec<&str> = paragraph.lines().filter(is_row).collect();
        // A separator line after the first row marks it as the header.
        let is_headed = rows.get(1).is_some_and(|row| cells(row).is_empty());
        found.extend(rows.iter().skip(if is_headed { 2 } else { 0 }).map(|row| cells(row)));
        let prose = paragraph.lines().filter(|line| !is_row(line) && !line.starts_with('#'));
        let mut sentence = String::new();
        for word in prose.flat_map(str::split_whitespace) {
            sentence = if sentence.is_empty() { word.to_owned() } else { sentence + " " + word };
            // `3.` is the number of a list item, not the end of a sentence.
            if word.ends_with(['.', '!', '?']) && sentence.contains(char::is_alphabetic) {
                found.push(std::mem::take(&mut sentence));
            }
        }
    }
    let to_sentence = |text: String| {
        let words: BTreeSet<String> = words(&text).into_iter().collect();
        let is_good = !words.is_empty() && text.len() <= MAX_SENTENCE_BYTES;
        is_good.then_some(Sentence { number, text, words })
    };
    found.into_iter().filter_map(to_sentence).collect()
}

/// Joins the cells of a table row.
fn cells(row: &str) -> String {
    let cells = row.trim().trim_matches('|').split('|').map(str::trim);
    cells.filter(|cell| !cell.trim_matches(['-', ':']).is_empty()).collect::<Vec<_>>().join(": ")
}

/// Returns the weight of each word: the fewer sentences contain the word, the higher it is.
fn rarity(sentences: &[Sentence]) -> HashMap<String, f64> {
    let mut counts: HashMap<String, f64> = HashMap::new();
    for word in sentences.iter().flat_map(|sentence| &sentence.words) {
        *counts.entry(word.clone()).or_default() += 1.0;
    }
    let all = sentences.len() as f64;
    counts.into_iter().map(|(word, count)| (word, (1.0 + all / count).ln())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer_to(question: &str) -> String {
        answer(&format!(
            "<passage number=\"1\" source=\"a.md\">\nBattery > Charging\n\n## Charging\n\nThe charger is in \
             the bag.\nCharging from empty takes four\nhours; never do it at night.\n</passage>\n\n\
             <passage number=\"2\" source=\"b.md\">\n| code | what to do |\n|---|---|\n\
             | E21 | wipe the contacts |\n</passage>\n\nQuestion: {question}"
        ))
    }

    #[test]
    fn sentences_with_words_of_the_question_are_quoted() {
        assert_eq!(
            answer_to("How long does charging take?"),
            "Charging from empty takes four hours; never do it at night. [1]"
        );
        assert_eq!(answer_to("What is E21?"), "E21: wipe the contacts [2]");
    }

    #[test]
    fn answer_without_matching_words_is_refused() {
        assert!(answer_to("Who is the king?").starts_with("No passage contains the words"));
        assert!(answer("").starts_with("No passage"));
    }
}
