//! No effect precedes a verdict, whether the model or the judge is faster.

use super::journal::{Desk as _, DeskService, Journal, calling, remembered, word};
use ai_services::guardrail::OutputVerdict;
use ai_services::model::{Moderation, ModerationModel};
use ai_services::testing::ScriptedAnswer;
use ai_services::{Error, ErrorKind, async_trait};
use proptest::prelude::*;
use std::time::Duration;

/// The decision of a judge.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Decision {
    Pass,
    Flag,
    Fail,
}

/// Judges messages and answers.
struct Judge {
    journal: Journal,
    of_message: (Decision, u64),
    of_answer: (Decision, u64),
}

#[async_trait]
impl ModerationModel for Judge {
    async fn moderate(&self, text: &str) -> ai_services::Result<Moderation> {
        let (subject, (decision, millis)) = match text {
            "why?" => ("message", self.of_message),
            _ => ("answer", self.of_answer),
        };
        tokio::time::sleep(Duration::from_millis(millis)).await;
        self.journal.note(format!("judged {subject}"));
        match decision {
            Decision::Pass => Ok(Moderation::passed()),
            Decision::Flag => Ok(Moderation::flagged([("hate", 0.9)])),
            Decision::Fail => Err(Error::new(ErrorKind::Unavailable, "no judge")),
        }
    }
}

/// The parameters of a call.
#[derive(Clone, Debug)]
struct Case {
    of_message: (Decision, u64),
    of_answer: (Decision, u64),
    model_takes: u64,
    pause: u64,
    calls_a_tool: bool,
    has_guardrail: bool,
    is_streamed: bool,
}

fn decision() -> impl Strategy<Value = Decision> {
    prop_oneof![3 => Just(Decision::Pass), 1 => Just(Decision::Flag), 1 => Just(Decision::Fail)]
}

fn case() -> impl Strategy<Value = Case> {
    let millis = || prop_oneof![Just(0), 1..5_u64];
    let verdicts = ((decision(), millis()), (decision(), millis()));
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
    let text = || ScriptedAnswer::text("because").chunked(2);
    let answers = if case.calls_a_tool { vec![calling("act"), text()] } else { vec![text()] };
    let pause = Duration::from_millis(case.pause);
    let model = journal.model(answers.into_iter().map(|one| one.after(after).with_pauses(pause)));
    let judge =
        Judge { journal: journal.clone(), of_message: case.of_message, of_answer: case.of_answer };
    let desk = journal.desk(&model).content_retriever(journal.shelf(&["a page"]));
    let desk = if case.has_guardrail {
        desk.output_guardrail(journal.output("reader", |_, _| OutputVerdict::Success))
    } else {
        desk
    };
    desk.moderation_model(judge).build().unwrap()
}

/// Makes a call, and records each event of a stream when it is delivered.
async fn call(desk: &DeskService, journal: &Journal, case: &Case) -> ai_services::Result<String> {
    if !case.is_streamed {
        return desk.guarded("ann", "why?").await.map(|response| response.value);
    }
    let mut stream = desk.stream_guarded("ann", "why?");
    let mut last = None;
    while let Some(event) = stream.next().await {
        let word = word(&event?);
        journal.note(format!("sent {word}"));
        last = Some(word);
    }
    Ok(last.unwrap().strip_prefix("completed ").unwrap().to_owned())
}

async fn check(case: Case) {
    let journal = Journal::default();
    let desk = desk(&journal, &case);
    let outcome = call(&desk, &journal, &case).await;
    let entries = journal.entries();
    let position = |prefix: &str| entries.iter().position(|entry| entry.starts_with(prefix));
    let before = |effect: &str, verdict: &str| match (position(effect), position(verdict)) {
        (Some(effect), Some(verdict)) => effect < verdict,
        (Some(_), None) => true,
        (None, _) => false,
    };
    for effect in ["sent", "acted", "stored"] {
        assert!(!before(effect, "judged message"), "{effect}: {entries:?}");
    }
    for effect in ["sent text", "sent completed", "stored"] {
        assert!(!before(effect, "judged answer"), "{effect}: {entries:?}");
    }
    let passes = case.of_message.0 == Decision::Pass && case.of_answer.0 == Decision::Pass;
    match outcome {
        Ok(answer) => {
            assert!(passes, "{entries:?}");
            assert_eq!(answer, "because");
            assert_eq!(remembered(&desk, "ann").await.last().unwrap().text(), Some("because"));
        }
        Err(error) => {
            let expected = match (case.of_message.0, case.of_answer.0) {
                (Decision::Flag, _) | (Decision::Pass, Decision::Flag) => ErrorKind::Moderation,
                _ => ErrorKind::Unavailable,
            };
            assert!(!passes && error.kind() == expected, "{error}: {entries:?}");
            assert!(remembered(&desk, "ann").await.is_empty());
            if case.of_message.0 != Decision::Pass {
                let effects = entries.iter().filter(|entry| {
                    ["sent", "acted", "stored", "reader"].iter().any(|one| entry.starts_with(one))
                });
                assert_eq!(effects.count(), 0, "{entries:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn no_effect_precedes_a_verdict(case in case()) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap().block_on(check(case));
    }
}
