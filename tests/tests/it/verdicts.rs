//! Nothing has happened by the time of a verdict, whoever is faster: model or judge.

use super::journal::{Desk as _, DeskService, Journal, calling, remembered, word};
use ai_services::guardrail::OutputVerdict;
use ai_services::model::{Moderation, ModerationModel};
use ai_services::testing::ScriptedAnswer;
use ai_services::{Error, ErrorKind, async_trait};
use proptest::prelude::*;
use std::time::Duration;

/// What a judge says.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    Fine,
    Flagged,
    Nothing,
}

/// Judges what was asked and what was answered.
struct Judge {
    journal: Journal,
    of_message: (Says, u64),
    of_answer: (Says, u64),
}

#[async_trait]
impl ModerationModel for Judge {
    async fn moderate(&self, text: &str) -> ai_services::Result<Moderation> {
        let (what, (says, takes)) = match text {
            "why?" => ("message", self.of_message),
            _ => ("answer", self.of_answer),
        };
        tokio::time::sleep(Duration::from_millis(takes)).await;
        self.journal.note(format!("judged {what}"));
        match says {
            Says::Fine => Ok(Moderation::passed()),
            Says::Flagged => Ok(Moderation::flagged([("hate", 0.9)])),
            Says::Nothing => Err(Error::new(ErrorKind::Unavailable, "no judge")),
        }
    }
}

/// How a call goes.
#[derive(Clone, Debug)]
struct Case {
    of_message: (Says, u64),
    of_answer: (Says, u64),
    model_takes: u64,
    pause: u64,
    calls_a_tool: bool,
    has_guardrail: bool,
    is_streamed: bool,
}

fn says() -> impl Strategy<Value = Says> {
    prop_oneof![3 => Just(Says::Fine), 1 => Just(Says::Flagged), 1 => Just(Says::Nothing)]
}

fn case() -> impl Strategy<Value = Case> {
    let millis = || prop_oneof![Just(0), 1..5_u64];
    let verdicts = ((says(), millis()), (says(), millis()));
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (verdicts, millis(), millis(), flags).prop_map(
        |((of_message, of_answer), model_takes, pause, flags)| {
            let (calls_a_tool, has_guardrail, is_streamed) = flags;
            Case {
                of_message,
                of_answer,
                model_takes,
                pause,
                calls_a_tool,
                has_guardrail,
                is_streamed,
            }
        },
    )
}

fn desk(journal: &Journal, case: &Case) -> DeskService {
    let after = Duration::from_millis(case.model_takes);
    let text = || ScriptedAnswer::text("because").in_pieces_of(2);
    let answers = match case.calls_a_tool {
        true => vec![calling("act"), text()],
        false => vec![text()],
    };
    let pause = Duration::from_millis(case.pause);
    let model = journal.model(answers.into_iter().map(|one| one.after(after).with_pauses(pause)));
    let judge =
        Judge { journal: journal.clone(), of_message: case.of_message, of_answer: case.of_answer };
    let desk = journal.desk(&model).content_retriever(journal.shelf(&["a page"]));
    let desk = match case.has_guardrail {
        true => desk.output_guardrail(journal.output("reader", |_, _| OutputVerdict::Success)),
        false => desk,
    };
    desk.moderation_model(judge).build().unwrap()
}

/// Makes a call, and notes what a stream tells when it tells it.
async fn call(desk: &DeskService, journal: &Journal, case: &Case) -> ai_services::Result<String> {
    if !case.is_streamed {
        return desk.guarded("ann", "why?").await.map(|response| response.value);
    }
    let mut stream = desk.stream_guarded("ann", "why?");
    let mut last = None;
    while let Some(event) = stream.next().await {
        let word = word(&event?);
        journal.note(format!("told {word}"));
        last = Some(word);
    }
    Ok(last.unwrap().strip_prefix("completed ").unwrap().to_owned())
}

async fn check(case: Case) {
    let journal = Journal::default();
    let desk = desk(&journal, &case);
    let outcome = call(&desk, &journal, &case).await;
    let entries = journal.entries();
    let at = |what: &str| entries.iter().position(|entry| entry.starts_with(what));
    let before = |what: &str, verdict: &str| match (at(what), at(verdict)) {
        (Some(what), Some(verdict)) => what < verdict,
        (Some(_), None) => true,
        (None, _) => false,
    };
    for effect in ["told", "acted", "stored"] {
        assert!(!before(effect, "judged message"), "{effect}: {entries:?}");
    }
    for effect in ["told text", "told completed", "stored"] {
        assert!(!before(effect, "judged answer"), "{effect}: {entries:?}");
    }
    let passes = case.of_message.0 == Says::Fine && case.of_answer.0 == Says::Fine;
    match outcome {
        Ok(answer) => {
            assert!(passes, "{entries:?}");
            assert_eq!(answer, "because");
            assert_eq!(remembered(&desk, "ann").await.last().unwrap().text(), Some("because"));
        }
        Err(error) => {
            let expected = match (case.of_message.0, case.of_answer.0) {
                (Says::Flagged, _) | (Says::Fine, Says::Flagged) => ErrorKind::Moderation,
                _ => ErrorKind::Unavailable,
            };
            assert!(!passes && error.kind() == expected, "{error}: {entries:?}");
            assert!(remembered(&desk, "ann").await.is_empty());
            if case.of_message.0 != Says::Fine {
                let happened = entries.iter().filter(|entry| {
                    ["told", "acted", "stored", "reader"].iter().any(|one| entry.starts_with(one))
                });
                assert_eq!(happened.count(), 0, "{entries:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn nothing_happens_before_a_verdict_whoever_is_faster(case in case()) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap().block_on(check(case));
    }
}
