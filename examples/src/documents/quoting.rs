//! The demonstration model of the documents: it quotes the sentences that have the words of the question.

use super::documents::words::words;
use ai_services::Result;
use ai_services::message::AiMessage;
use ai_services::model::{
    Capabilities, Capability, ChatModel, ChatRequest, ChatResponse, ModelStreamEvent,
};
use futures_util::stream::{self, BoxStream, StreamExt};
use std::collections::{BTreeSet, HashMap};

/// How many sentences are quoted at most.
const QUOTED: usize = 2;

/// A second sentence is quoted if it is at least so good, compared with the best one.
const NEARLY: f64 = 0.6;

/// Answers from the passages in a request, which it reads in the form in which they are put there:
/// `<passage number="1" …>`. It understands nothing, and needs no network.
pub(crate) struct QuotingModel;

#[ai_services::async_trait]
impl ChatModel for QuotingModel {
    async fn chat(&self, request: &ChatRequest) -> Result<ChatResponse> {
        let said = request.messages().rfind(|message| message.is_user());
        let answer = answer(said.and_then(|message| message.text()).unwrap_or_default());
        Ok(ChatResponse::new(AiMessage::new(answer)))
    }

    /// Word by word.
    fn stream<'a>(&'a self, request: &'a ChatRequest) -> BoxStream<'a, Result<ModelStreamEvent>> {
        let said = async move {
            let response = self.chat(request).await?;
            let text = response.message.text().unwrap_or_default();
            let words =
                text.split_inclusive(' ').map(|word| ModelStreamEvent::Text(word.to_owned()));
            let mut events: Vec<_> = words.map(Ok).collect();
            events.push(Ok(ModelStreamEvent::Completed(Box::new(response))));
            Ok(stream::iter(events))
        };
        let events = stream::once(said).flat_map(|events: Result<_>| match events {
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

/// What is longer is no sentence, or none that somebody would like to read; in bytes.
const LONGEST: usize = 400;

/// A sentence, and the number of its passage.
struct Sentence {
    number: usize,
    text: String,
    words: BTreeSet<String>,
}

fn answer(message: &str) -> String {
    let (passages, question) = parts(message);
    let sentences: Vec<Sentence> = passages.into_iter().flat_map(sentences).collect();
    let rarity = rarity(&sentences);
    let asked: BTreeSet<String> = words(question).into_iter().collect();
    let score = |sentence: &Sentence| {
        let shared = sentence.words.intersection(&asked);
        let shared: f64 = shared.filter_map(|word| rarity.get(word)).sum();
        // Of sentences with the same words, the one in the better passage.
        shared * (1.0 + 0.5 / sentence.number as f64)
    };
    let mut scored: Vec<(f64, Sentence)> =
        sentences.into_iter().map(|sentence| (score(&sentence), sentence)).collect();
    scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let best = scored.first().map_or(0.0, |(score, _)| *score);
    if best == 0.0 {
        return "No passage has the words of the question; the nearest are listed below."
            .to_owned();
    }
    let mut left = asked.clone();
    // What a second one says has to be new.
    let is_new = |(_, sentence): &(f64, Sentence)| {
        let before = left.len();
        left.retain(|word| !sentence.words.contains(word));
        left.len() < before
    };
    let good = scored.into_iter().take_while(|(score, _)| *score >= best * NEARLY);
    let quotes = good.filter(is_new).take(QUOTED);
    let quotes = quotes.map(|(_, Sentence { number, text, .. })| format!("{text} [{number}]"));
    quotes.collect::<Vec<_>>().join("\n")
}

/// The passages with their numbers, and the question behind them.
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

/// The sentences of a passage, and the rows of its tables; no headings.
fn sentences((number, text): (usize, &str)) -> Vec<Sentence> {
    let mut found: Vec<String> = Vec::new();
    for paragraph in text.split("\n\n") {
        let is_row = |line: &&str| line.trim_start().starts_with('|');
        let rows: Vec<&str> = paragraph.lines().filter(is_row).collect();
        // The first row is above a line.
        let is_headed = rows.get(1).is_some_and(|row| cells(row).is_empty());
        found.extend(rows.iter().skip(if is_headed { 2 } else { 0 }).map(|row| cells(row)));
        let prose = paragraph.lines().filter(|line| !is_row(line) && !line.starts_with('#'));
        let mut sentence = String::new();
        for word in prose.flat_map(str::split_whitespace) {
            sentence = if sentence.is_empty() { word.to_owned() } else { sentence + " " + word };
            // `3.` begins a sentence.
            if word.ends_with(['.', '!', '?']) && sentence.contains(char::is_alphabetic) {
                found.push(std::mem::take(&mut sentence));
            }
        }
    }
    let known = |text: String| {
        let words: BTreeSet<String> = words(&text).into_iter().collect();
        let is_good = !words.is_empty() && text.len() <= LONGEST;
        is_good.then_some(Sentence { number, text, words })
    };
    found.into_iter().filter_map(known).collect()
}

/// A row of a table in words.
fn cells(row: &str) -> String {
    let cells = row.trim().trim_matches('|').split('|').map(str::trim);
    cells.filter(|cell| !cell.trim_matches(['-', ':']).is_empty()).collect::<Vec<_>>().join(": ")
}

/// How much each word tells: the more, the fewer sentences have it.
fn rarity(sentences: &[Sentence]) -> HashMap<String, f64> {
    let mut having: HashMap<String, f64> = HashMap::new();
    for word in sentences.iter().flat_map(|sentence| &sentence.words) {
        *having.entry(word.clone()).or_default() += 1.0;
    }
    let all = sentences.len() as f64;
    having.into_iter().map(|(word, count)| (word, (1.0 + all / count).ln())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(question: &str) -> String {
        answer(&format!(
            "<passage number=\"1\" source=\"a.md\">\nBattery > Charging\n\n## Charging\n\nThe charger is in \
             the bag.\nCharging from empty takes four\nhours; never do it at night.\n</passage>\n\n\
             <passage number=\"2\" source=\"b.md\">\n| code | what to do |\n|---|---|\n\
             | E21 | wipe the contacts |\n</passage>\n\nQuestion: {question}"
        ))
    }

    #[test]
    fn sentences_with_the_words_of_the_question_are_quoted() {
        assert_eq!(
            asked("How long does charging take?"),
            "Charging from empty takes four hours; never do it at night. [1]"
        );
        assert_eq!(asked("What is E21?"), "E21: wipe the contacts [2]");
    }

    #[test]
    fn nothing_is_made_up() {
        assert!(asked("Who is the king?").starts_with("No passage has the words"));
        assert!(answer("").starts_with("No passage"));
    }
}
