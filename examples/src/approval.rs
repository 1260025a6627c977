//! Questions about tool calls that wait for approval.

use crate::input::{Input, InputLine};
use crate::screen::Screen;
use ai_services::approval::{Decision, PendingCall, PendingTurn};
use anyhow::bail;
use jiff::{Timestamp, Unit};
use serde_json::{Map, Value};

const QUESTION: &str = "run it? y(es), n(o), e(dit), or a reason against it> ";

/// The reason that the model gets for a plain no.
const REFUSAL: &str = "the user does not want it";

/// Asks for a decision about each call. Returns `None` if a question is not answered; all calls then still wait.
///
/// # Errors
///
/// Fails if the input is not a terminal. The calls still wait.
pub(crate) async fn decisions(
    pending: &PendingTurn,
    input: &mut Input,
    screen: &Screen,
) -> anyhow::Result<Option<Vec<Decision>>> {
    if !input.is_terminal() {
        pending.calls.iter().for_each(|call| show(call, screen));
        let expires = Timestamp::try_from(pending.expires_at())?.round(Unit::Second)?;
        bail!(
            "no terminal to ask for approval: run the assistant with `--approve --user {:?}` and the same memory in \
             a terminal before {expires}",
            pending.memory_id
        );
    }
    let mut decisions = Vec::new();
    for call in &pending.calls {
        show(call, screen);
        match decision(call, input, screen).await? {
            Some(decision) => decisions.push(decision),
            None => return Ok(None),
        }
    }
    Ok(Some(decisions))
}

fn show(call: &PendingCall, screen: &Screen) {
    screen.notice(&format!("`{}` waits for approval: {}", visible(&call.tool), call.description));
    screen.notice(&format!("    {}", visible(&call.arguments)));
}

/// Asks for a decision about one call. Returns `None` at the end of the input and for Ctrl-C.
async fn decision(
    call: &PendingCall,
    input: &mut Input,
    screen: &Screen,
) -> anyhow::Result<Option<Decision>> {
    loop {
        let InputLine::Text(line) = input.next(QUESTION).await? else { return Ok(None) };
        let line = line.trim();
        return Ok(Some(match line.to_lowercase().as_str() {
            "" => continue,
            "y" | "yes" => Decision::Approve,
            "n" | "no" => Decision::deny(REFUSAL),
            "e" | "edit" => match edited(&call.arguments, input, screen).await? {
                Some(arguments) => Decision::Edit(arguments),
                None => continue,
            },
            _ => Decision::deny(line),
        }));
    }
}

/// Lets the user edit the arguments. Returns `None` if they are not a JSON object, at the end of the input and for
/// Ctrl-C.
async fn edited(
    arguments: &str,
    input: &mut Input,
    screen: &Screen,
) -> anyhow::Result<Option<String>> {
    let InputLine::Text(line) = input.edit("arguments> ", &visible(arguments)).await? else {
        return Ok(None);
    };
    if let Err(error) = serde_json::from_str::<Map<String, Value>>(&line) {
        screen.notice(&format!("not a JSON object: {error}"));
        return Ok(None);
    }
    Ok(Some(line.trim().to_owned()))
}

/// Returns the text on one line, with all characters that a terminal does not show in their place escaped.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Directions of writing, and characters without width.
            '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => shown.extend(c.escape_unicode()),
            c if c.is_control() => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::sync::mpsc;

    async fn answer(lines: &[&str]) -> Option<Decision> {
        let (sender, receiver) = mpsc::channel(lines.len() + 1);
        for line in lines {
            sender.try_send(Ok(format!("{line}\n"))).unwrap();
        }
        drop(sender);
        decision(&pending().calls[0], &mut Input::Pipe(receiver), &Screen::new()).await.unwrap()
    }

    fn pending() -> PendingTurn {
        let call = json!({
            "tool": "add_note", "description": "Stores a note.", "arguments": r#"{"text":"milk"}"#,
            "definition": "",
        });
        let pending = json!({ "memory_id": "ann", "position": "", "calls": [call], "expires": 0 });
        serde_json::from_value(pending).unwrap()
    }

    #[tokio::test]
    async fn answer_is_a_decision() {
        for (lines, expected) in [
            (&["y"] as &[_], Some(Decision::Approve)),
            (&["", " YES "], Some(Decision::Approve)),
            (&["n"], Some(Decision::deny(REFUSAL))),
            (&["Not today."], Some(Decision::deny("Not today."))),
            (&["e", r#" {"text":"oats"} "#], Some(Decision::Edit(r#"{"text":"oats"}"#.into()))),
            (&["e", "oats", "y"], Some(Decision::Approve)),
            (&[], None),
            (&["e"], None),
        ] {
            assert_eq!(answer(lines).await, expected, "{lines:?}");
        }
    }

    #[tokio::test]
    async fn input_without_a_terminal_decides_nothing() {
        let error = decisions(&pending(), &mut Input::Closed, &Screen::new()).await.unwrap_err();
        assert!(error.to_string().contains(r#"`--approve --user "ann"`"#), "{error}");
    }

    #[test]
    fn invisible_characters_are_escaped() {
        assert_eq!(visible("\u{1b}[2Jä\n\u{202e}b\u{9b}"), "\\u{1b}[2Jä\\n\\u{202e}b\\u{9b}");
    }
}
