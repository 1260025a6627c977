//! Reads JSON: the usual grammar, and a comma before a closing bracket.

use super::string;
use super::{List, Node, Object};
use std::fmt;

/// How deep lists and objects may be nested, as `serde_json` has it.
const DEEPEST: usize = 128;

/// Why a text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::output) enum Fault {
    /// It ends too early.
    Ends,
    /// There is something wrong at this byte.
    Unexpected(usize),
    /// Lists and objects are nested too deeply.
    TooDeep,
    /// A key of an object is given twice.
    Twice(String),
}

impl Fault {
    /// The fault in words, with the place in the text that was read.
    pub(in crate::output) fn explain(&self, text: &str) -> String {
        match self {
            Self::Unexpected(at) => {
                let before = text.get(..*at).unwrap_or(text);
                let line = before.matches('\n').count() + 1;
                let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
                match text.get(*at..).and_then(|rest| rest.chars().next()) {
                    Some(c) => {
                        format!("not JSON: unexpected {c:?} at line {line}, column {column}")
                    }
                    None => "not JSON: it ends too early".to_owned(),
                }
            }
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ends => f.write_str("the JSON breaks off before its end"),
            Self::Unexpected(_) => f.write_str("not JSON"),
            Self::TooDeep => write!(f, "the JSON is nested more than {DEEPEST} levels deep"),
            Self::Twice(key) => write!(f, "the key `{key}` is given twice"),
        }
    }
}

/// Reads a text that is one piece of JSON and nothing else.
pub(in crate::output) fn whole_text(text: &str) -> Result<Node<'_>, Fault> {
    let (node, end) = prefix(text, 0)?;
    let mut parser = Parser { text, at: end, is_partial: false };
    parser.skip_blanks();
    match parser.at == text.len() {
        true => Ok(node),
        false => Err(Fault::Unexpected(parser.at)),
    }
}

/// Reads one piece of JSON that starts at a byte; tells where it ends.
pub(in crate::output) fn prefix(text: &str, start: usize) -> Result<(Node<'_>, usize), Fault> {
    let mut parser = Parser { text, at: start, is_partial: false };
    let node = parser.value(0)?;
    Ok((node, parser.at))
}

/// Reads one piece of JSON that starts at a byte and of which the rest may not have arrived; tells
/// how far it goes.
pub(in crate::output) fn open(text: &str, start: usize) -> Result<(Node<'_>, usize), Fault> {
    let mut parser = Parser { text, at: start, is_partial: true };
    let node = parser.value(0)?;
    Ok((node, parser.at))
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    is_partial: bool,
}

impl<'a> Parser<'a> {
    fn value(&mut self, depth: usize) -> Result<Node<'a>, Fault> {
        self.skip_blanks();
        match self.peek() {
            None => Err(Fault::Ends),
            Some(b'{' | b'[') if depth >= DEEPEST => Err(Fault::TooDeep),
            Some(b'{') => self.object(depth + 1).map(Node::Object),
            Some(b'[') => self.list(depth + 1).map(Node::List),
            Some(b'"') => {
                let (text, end) = string::read(self.text, self.at, self.is_partial)?;
                self.at = end;
                Ok(Node::Text(text))
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true", Node::Bool(true)),
            Some(b'f') => self.literal("false", Node::Bool(false)),
            Some(b'n') => self.literal("null", Node::Null),
            Some(_) => Err(Fault::Unexpected(self.at)),
        }
    }

    fn list(&mut self, depth: usize) -> Result<List<'a>, Fault> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_blanks();
            if self.take(b']') {
                return Ok(List { items, is_closed: true });
            }
            match self.value(depth) {
                Ok(item) => items.push(item),
                Err(fault) => return self.ends(fault).map(|()| List { items, is_closed: false }),
            }
            match self.after_item(b']') {
                Ok(true) => {}
                Ok(false) => return Ok(List { items, is_closed: true }),
                Err(fault) => return self.ends(fault).map(|()| List { items, is_closed: false }),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Object<'a>, Fault> {
        self.at += 1;
        let mut object = Object { members: Vec::new(), is_closed: true };
        loop {
            self.skip_blanks();
            if self.take(b'}') {
                break;
            }
            match self.member(depth, &mut object) {
                Ok(true) => {}
                Ok(false) => break,
                Err(fault) => {
                    self.ends(fault)?;
                    object.is_closed = false;
                    break;
                }
            }
        }
        match object.repeated() {
            Some(key) => Err(Fault::Twice(key.to_owned())),
            None => Ok(object),
        }
    }

    /// Reads a member; says whether another may follow.
    fn member(&mut self, depth: usize, object: &mut Object<'a>) -> Result<bool, Fault> {
        match self.peek() {
            None => return Err(Fault::Ends),
            Some(b'"') => {}
            Some(_) => return Err(Fault::Unexpected(self.at)),
        }
        let (key, end) = string::read(self.text, self.at, self.is_partial)?;
        if !key.is_closed {
            return Err(Fault::Ends);
        }
        self.at = end;
        self.skip_blanks();
        if !self.take(b':') {
            return Err(self.unexpected());
        }
        let value = self.value(depth)?;
        object.members.push((key.text, value));
        self.after_item(b'}')
    }

    /// What comes after an item or a member: true for a comma, false for the closing bracket.
    fn after_item(&mut self, closing: u8) -> Result<bool, Fault> {
        self.skip_blanks();
        if self.take(b',') {
            Ok(true)
        } else if self.take(closing) {
            Ok(false)
        } else {
            Err(self.unexpected())
        }
    }

    fn number(&mut self) -> Result<Node<'a>, Fault> {
        let start = self.at;
        let _ = self.take(b'-');
        let leading_zero = self.peek() == Some(b'0');
        let integer = self.digits()?;
        if leading_zero && integer > 1 {
            return Err(Fault::Unexpected(start));
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        // Another digit may be on its way.
        if self.is_partial && self.peek().is_none() {
            return Err(Fault::Ends);
        }
        self.text.get(start..self.at).map(Node::Number).ok_or(Fault::Unexpected(start))
    }

    /// Reads at least one digit; says how many there are.
    fn digits(&mut self) -> Result<usize, Fault> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        match self.at - start {
            0 => Err(self.unexpected()),
            count => Ok(count),
        }
    }

    fn literal(&mut self, literal: &str, node: Node<'a>) -> Result<Node<'a>, Fault> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if rest.starts_with(literal) {
            self.at += literal.len();
            return Ok(node);
        }
        Err(match literal.starts_with(rest) {
            true => Fault::Ends,
            false => Fault::Unexpected(self.at),
        })
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Forgives that the text ends, if the rest of it may not have arrived.
    fn ends(&mut self, fault: Fault) -> Result<(), Fault> {
        if !self.is_partial || fault != Fault::Ends {
            return Err(fault);
        }
        // What was begun and is withheld is nobody's.
        self.at = self.text.len();
        Ok(())
    }

    fn unexpected(&self) -> Fault {
        match self.peek() {
            Some(_) => Fault::Unexpected(self.at),
            None => Fault::Ends,
        }
    }
}
