//! Notes of each user, kept until the process exits.

use ai_services::memory::MemoryId;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Limits that let a list of notes fit into a model's context next to the conversation.
const MAX_NOTES: usize = 20;
const MAX_NOTE_CHARS: usize = 200;

/// Notes by user and number. Numbers are not reused.
#[derive(Default)]
pub(super) struct Notes(Mutex<HashMap<MemoryId, UserNotes>>);

#[derive(Default)]
struct UserNotes {
    notes: BTreeMap<u32, String>,
    last: u32,
}

/// A note with its number, as sent to the model.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Note {
    number: u32,
    text: String,
}

/// Error of a tool call, reported to the model.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoteError {
    Empty,
    TooLong,
    TooMany,
    Unknown(u32),
}

impl fmt::Display for NoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the note is empty"),
            Self::TooLong => write!(f, "a note can have at most {MAX_NOTE_CHARS} characters"),
            Self::TooMany => write!(f, "the user already has {MAX_NOTES} notes; forget one first"),
            Self::Unknown(number) => write!(f, "unknown note {number}"),
        }
    }
}

impl Notes {
    pub(super) fn add(&self, user: &MemoryId, text: &str) -> Result<Note, NoteError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(NoteError::Empty);
        }
        if text.chars().count() > MAX_NOTE_CHARS {
            return Err(NoteError::TooLong);
        }
        let mut pads = self.pads();
        let pad = pads.entry(user.clone()).or_default();
        if pad.notes.len() >= MAX_NOTES {
            return Err(NoteError::TooMany);
        }
        pad.last += 1;
        pad.notes.insert(pad.last, text.to_owned());
        Ok(Note { number: pad.last, text: text.to_owned() })
    }

    pub(super) fn list(&self, user: &MemoryId) -> Vec<Note> {
        let pads = self.pads();
        let notes = pads.get(user).into_iter().flat_map(|pad| &pad.notes);
        notes.map(|(&number, text)| Note { number, text: text.clone() }).collect()
    }

    pub(super) fn forget(&self, user: &MemoryId, number: u32) -> Result<Note, NoteError> {
        let mut pads = self.pads();
        let text = pads.get_mut(user).and_then(|pad| pad.notes.remove(&number));
        text.map(|text| Note { number, text }).ok_or(NoteError::Unknown(number))
    }

    fn pads(&self) -> MutexGuard<'_, HashMap<MemoryId, UserNotes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_separate_per_user() {
        let (notes, ann, ben) = (Notes::default(), MemoryId::from("ann"), MemoryId::from("ben"));
        let milk = notes.add(&ann, " buy milk ").unwrap();
        assert_eq!((milk.number, &*milk.text), (1, "buy milk"));
        assert_eq!(notes.list(&ben), []);
        assert_eq!(notes.forget(&ben, 1), Err(NoteError::Unknown(1)));
        assert_eq!(notes.forget(&ann, 1), Ok(milk));
        assert_eq!(notes.add(&ann, "bread").unwrap().number, 2);
    }

    #[test]
    fn notes_are_bounded() {
        let (notes, ann) = (Notes::default(), MemoryId::from("ann"));
        assert_eq!(notes.add(&ann, &"x".repeat(MAX_NOTE_CHARS + 1)), Err(NoteError::TooLong));
        for _ in 0..MAX_NOTES {
            notes.add(&ann, "x").unwrap();
        }
        assert_eq!(notes.add(&ann, "x"), Err(NoteError::TooMany));
    }
}
