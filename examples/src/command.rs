//! Commands of the chat.

use crate::args::user_name;

/// Output of `/help`.
pub(crate) const HELP: &str = "\
/user NAME   continue as another user, with separate memory and notes
/users       list the users with stored conversations
/memory      show the messages that are sent to the model
/history     show all stored messages of this user
/forget      delete this user's conversation
/cancel      end this user's open turn, which waits for approval or was interrupted
/usage       show tokens, turns and tool calls so far
/help        show this list
/quit        exit, like Ctrl-D

Ctrl-C cancels a turn. Any other line is a question.";

/// A line that begins with a slash.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    User(String),
    Users,
    Memory,
    History,
    Forget,
    Cancel,
    Usage,
    Help,
    Quit,
}

impl Command {
    /// Parses a line that begins with a slash. The error is a hint for the user.
    pub(crate) fn read(line: &str) -> Result<Self, String> {
        let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let argument = argument.trim();
        if name == "/user" {
            return match argument {
                "" => Err("missing name: /user NAME".to_owned()),
                name => user_name(name).map(Self::User),
            };
        }
        let command = match name {
            "/users" => Self::Users,
            "/memory" => Self::Memory,
            "/history" => Self::History,
            "/forget" => Self::Forget,
            "/cancel" => Self::Cancel,
            "/usage" => Self::Usage,
            "/help" => Self::Help,
            "/quit" | "/exit" => Self::Quit,
            _ => return Err(format!("unknown command {name}; /help lists the commands")),
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
    fn commands_are_parsed() {
        assert_eq!(Command::read("/user  Ann Lee "), Ok(Command::User("Ann Lee".to_owned())));
        assert_eq!(Command::read("/memory"), Ok(Command::Memory));
        for wrong in ["/", "/nope", "/user", "/user \u{1b}[31m", "/forget all", "/Help"] {
            assert!(Command::read(wrong).is_err(), "{wrong}");
        }
    }
}
