//! A JSON parser that also accepts a comma before a closing bracket.

use super::super::steps;
use super::string;
use super::syntax_error::{MAX_DEPTH, SyntaxError};
use super::{List, Node, Object};

/// Parses a text that consists of exactly one JSON value.
pub(in crate::output) fn parse_complete(text: &str) -> Result<Node<'_>, SyntaxError> {
    let (node, end) = parse_prefix(text, 0)?;
    let mut parser = Parser { text, at: end, is_partial: false };
    parser.skip_blanks();
    if parser.at == text.len() { Ok(node) } else { Err(SyntaxError::Unexpected(parser.at)) }
}

/// Parses one JSON value that starts at a byte. Returns the value and its end.
pub(in crate::output) fn parse_prefix(
    text: &str,
    start: usize,
) -> Result<(Node<'_>, usize), SyntaxError> {
    let mut parser = Parser { text, at: start, is_partial: false };
    let node = parser.value(0)?;
    Ok((node, parser.at))
}

/// Parses one JSON value that starts at a byte and may be incomplete. Returns the value so far and its
/// end.
pub(in crate::output) fn parse_partial(
    text: &str,
    start: usize,
) -> Result<(Node<'_>, usize), SyntaxError> {
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
    fn value(&mut self, depth: usize) -> Result<Node<'a>, SyntaxError> {
        self.skip_blanks();
        match self.peek() {
            None => Err(SyntaxError::UnexpectedEnd),
            Some(b'{' | b'[') if depth >= MAX_DEPTH => Err(SyntaxError::TooDeep),
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
            Some(_) => Err(SyntaxError::Unexpected(self.at)),
        }
    }

    fn list(&mut self, depth: usize) -> Result<List<'a>, SyntaxError> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_blanks();
            if self.take(b']') {
                return Ok(List { items, is_closed: true });
            }
            match self.value(depth) {
                Ok(item) => items.push(item),
                Err(error) => {
                    let error = error.in_item(items.len());
                    return self.ignore_end(error).map(|()| List { items, is_closed: false });
                }
            }
            match self.after_item(b']') {
                Ok(true) => {}
                Ok(false) => return Ok(List { items, is_closed: true }),
                Err(error) => {
                    return self.ignore_end(error).map(|()| List { items, is_closed: false });
                }
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Object<'a>, SyntaxError> {
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
                Err(error) => {
                    self.ignore_end(error)?;
                    object.is_closed = false;
                    break;
                }
            }
        }
        match object.duplicate_key() {
            Some(key) => {
                Err(SyntaxError::DuplicateKey { path: String::new(), key: key.to_owned() })
            }
            None => Ok(object),
        }
    }

    /// Parses a member. Returns `true` if another member may follow.
    fn member(&mut self, depth: usize, object: &mut Object<'a>) -> Result<bool, SyntaxError> {
        match self.peek() {
            None => return Err(SyntaxError::UnexpectedEnd),
            Some(b'"') => {}
            Some(_) => return Err(SyntaxError::Unexpected(self.at)),
        }
        let (key, end) = string::read(self.text, self.at, self.is_partial)?;
        if !key.is_closed {
            return Err(SyntaxError::UnexpectedEnd);
        }
        self.at = end;
        self.skip_blanks();
        if !self.take(b':') {
            return Err(self.unexpected());
        }
        let value = self.value(depth).map_err(|error| error.in_member(&key.text))?;
        object.members.push((key.text, value));
        self.after_item(b'}')
    }

    /// Parses the byte after an item or a member. Returns `true` for a comma, `false` for the closing
    /// bracket.
    fn after_item(&mut self, closing: u8) -> Result<bool, SyntaxError> {
        self.skip_blanks();
        if self.take(b',') {
            Ok(true)
        } else if self.take(closing) {
            Ok(false)
        } else {
            Err(self.unexpected())
        }
    }

    fn number(&mut self) -> Result<Node<'a>, SyntaxError> {
        let start = self.at;
        let _ = self.take(b'-');
        let leading_zero = self.peek() == Some(b'0');
        let integer = self.digits()?;
        if leading_zero && integer > 1 {
            return Err(SyntaxError::Unexpected(start));
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        // More digits may follow.
        if self.is_partial && self.peek().is_none() {
            return Err(SyntaxError::UnexpectedEnd);
        }
        let number = self.text.get(start..self.at).ok_or(SyntaxError::Unexpected(start))?;
        Ok(Node::Number(number.into()))
    }

    /// Parses at least one digit. Returns their number.
    fn digits(&mut self) -> Result<usize, SyntaxError> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        match self.at - start {
            0 => Err(self.unexpected()),
            count => Ok(count),
        }
    }

    fn literal(&mut self, literal: &str, node: Node<'a>) -> Result<Node<'a>, SyntaxError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if rest.starts_with(literal) {
            self.at += literal.len();
            return Ok(node);
        }
        Err(if literal.starts_with(rest) {
            SyntaxError::UnexpectedEnd
        } else {
            SyntaxError::Unexpected(self.at)
        })
    }

    fn peek(&self) -> Option<u8> {
        steps::add(1);
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

    /// Ignores an unexpected end if the text may be incomplete. Returns every other error.
    fn ignore_end(&mut self, error: SyntaxError) -> Result<(), SyntaxError> {
        if !self.is_partial || error != SyntaxError::UnexpectedEnd {
            return Err(error);
        }
        // The incomplete item is dropped.
        self.at = self.text.len();
        Ok(())
    }

    fn unexpected(&self) -> SyntaxError {
        match self.peek() {
            Some(_) => SyntaxError::Unexpected(self.at),
            None => SyntaxError::UnexpectedEnd,
        }
    }
}
