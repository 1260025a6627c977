//! What can be typed beside questions.

use crate::args::user_name;

/// All commands, as `/help` shows them.
pub(crate) const HELP: &str = "\
/user NAME   talk as somebody else, with a memory and notes of their own
/users       who is remembered
/memory      what the model is reminded of
/history     everything that was said with this user
/forget      forget this user's conversation
/usage       tokens, turns and tool calls so far
/help        this list
/quit        leave, as Ctrl-D does

Ctrl-C cancels an answer, which is then not remembered. Anything else is a question.";

/// A line that begins with a slash.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    User(String),
    Users,
    Memory,
    History,
    Forget,
    Usage,
    Help,
    Quit,
}

impl Command {
    /// Reads a line that begins with a slash. The error is a hint.
    pub(crate) fn read(line: &str) -> Result<Self, String> {
        let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let argument = argument.trim();
        if name == "/user" {
            return match argument {
                "" => Err("say who: /user NAME".to_owned()),
                name => user_name(name).map(Self::User),
            };
        }
        let command = match name {
            "/users" => Self::Users,
            "/memory" => Self::Memory,
            "/history" => Self::History,
            "/forget" => Self::Forget,
            "/usage" => Self::Usage,
            "/help" => Self::Help,
            "/quit" | "/exit" => Self::Quit,
            _ => return Err(format!("there is no command {name}; /help lists them")),
        };
        match argument {
            "" => Ok(command),
            _ => Err(format!("{name} takes no argument")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        assert_eq!(Command::read("/user  Ann Lee "), Ok(Command::User("Ann Lee".to_owned())));
        assert_eq!(Command::read("/memory"), Ok(Command::Memory));
        for wrong in ["/", "/nope", "/user", "/user \u{1b}[31m", "/forget all", "/Help"] {
            assert!(Command::read(wrong).is_err(), "{wrong}");
        }
    }
}
