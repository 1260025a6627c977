//! The rows of journals: numbering, record format, and detection of appends whose answer was lost.
//!
//! A store keeps one row for each record of an open journal: the number of the record, from 1 on, the turn, and
//! a text in this format:
//!
//! ```text
//! 1 5d1f9c3a 0f3c96d2a1b47e58 {"type":"started",…}
//! ```
//!
//! The parts are the format version, a CRC-32 of everything else including the conversation's id, the turn and
//! the number of the row, a random number that all rows of one append share, and the record as it is.
//!
//! A store appends the rows in one atomic step, on the condition that the journal still has the position of the
//! [`PendingAppend`].

use super::commits::Settled;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{
    JournalPosition, MemoryId, TurnId, TurnJournal, UnreadableRecord, journal_moved,
};
use crate::random::random;
use crc32fast::Hasher;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Format version of the rows that [`PendingAppend`] creates, and the newest one that [`journal`] reads.
pub const JOURNAL_VERSION: u32 = 1;

/// An append that is being sent to a database, possibly several times.
#[derive(Debug)]
pub struct PendingAppend {
    id: MemoryId,
    position: JournalPosition,
    rows: Vec<(u64, String)>,
    is_in_doubt: AtomicBool,
}

impl PendingAppend {
    /// Creates the rows of an append at `position`.
    #[must_use]
    pub fn new(id: &MemoryId, position: JournalPosition, records: &[String]) -> Self {
        let nonce = random();
        let numbers = position.length.saturating_add(1)..;
        let encode = |(number, record): (u64, &String)| {
            let place = Place { id, turn: position.turn, number };
            (number, place.encode(nonce, record))
        };
        let rows = numbers.zip(records).map(encode).collect();
        Self { id: id.clone(), position, rows, is_in_doubt: AtomicBool::new(false) }
    }

    /// Returns the position that the journal must have.
    #[must_use]
    pub fn position(&self) -> JournalPosition {
        self.position
    }

    /// Returns the position after the append.
    #[must_use]
    pub fn next(&self) -> JournalPosition {
        self.position.advanced(self.rows.len())
    }

    /// Returns the rows to insert: number and text.
    #[must_use]
    pub fn rows(&self) -> &[(u64, String)] {
        &self.rows
    }

    /// Records that an attempt may have been applied: the connection broke, or the answer did not arrive in
    /// time.
    pub fn lose_answer(&self) {
        self.is_in_doubt.store(true, Ordering::Relaxed);
    }

    /// Decides from the position of the open journal and the text of its last row whether an earlier attempt
    /// was applied.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Conflict`] if the journal has another position. Returns
    /// [`ErrorKind::UnknownOutcome`] if, in addition, an attempt may have been applied before.
    pub fn settle(&self, current: Option<(JournalPosition, &[u8])>) -> Result<Settled> {
        let own = self.rows.last().map(|(_, text)| (self.next(), text.as_bytes()));
        if own.is_some() && current == own {
            return Ok(Settled::Applied);
        }
        let position = current.map(|(position, _)| position);
        let is_unchanged = match position {
            None => self.position.length == 0,
            Some(position) => position == self.position,
        };
        if is_unchanged {
            return Ok(Settled::NotApplied);
        }
        Err(self.fail(journal_moved(&self.id)))
    }

    /// Returns the error of an append that is not sent again: `error` itself if no attempt was applied,
    /// otherwise an error of the kind [`ErrorKind::UnknownOutcome`].
    #[must_use]
    pub fn fail(&self, error: Error) -> Error {
        if !self.is_in_doubt.load(Ordering::Relaxed) || error.kind() == ErrorKind::UnknownOutcome {
            return error;
        }
        let Self { id, position, .. } = self;
        let message = format!(
            "it is unknown whether records were appended to the journal {position} of the conversation \
             `{id}`: {error}"
        );
        Error::new(ErrorKind::UnknownOutcome, message).with_source(error)
    }
}

/// Reads the rows of a journal: turn, number and text, in the order of their numbers.
///
/// # Errors
///
/// Fails if a row is malformed, missing or in the wrong place, or if its format version is newer than
/// [`JOURNAL_VERSION`].
pub fn journal<D: AsRef<[u8]>>(
    id: &MemoryId,
    rows: &[(TurnId, u64, D)],
) -> Result<Option<TurnJournal>, UnreadableRecord> {
    let Some((turn, ..)) = rows.first() else { return Ok(None) };
    let mut records = Vec::with_capacity(rows.len());
    for (expected, (row_turn, number, text)) in (1..).zip(rows) {
        let place = Place { id, turn: *turn, number: *number };
        if (row_turn, *number) != (turn, expected) {
            return Err(place.corrupt(&"it is out of order"));
        }
        records.push(place.decode(text.as_ref())?);
    }
    Ok(Some(TurnJournal::new(*turn, records)))
}

/// The place of a row. The checksum depends on it.
#[derive(Clone, Copy)]
struct Place<'a> {
    id: &'a MemoryId,
    turn: TurnId,
    number: u64,
}

impl Place<'_> {
    fn encode(self, nonce: u64, record: &str) -> String {
        let body = format!("{nonce:016x} {record}");
        format!("{JOURNAL_VERSION} {:08x} {body}", self.checksum(&body))
    }

    fn decode(self, data: &[u8]) -> Result<String, UnreadableRecord> {
        let text = std::str::from_utf8(data).map_err(|error| self.corrupt(&error))?;
        let (version, rest) = text.split_once(' ').unwrap_or((text, ""));
        match version.parse() {
            Ok(JOURNAL_VERSION) => {}
            Ok(newer) if newer > JOURNAL_VERSION => {
                return Err(UnreadableRecord::newer(self.id, self, newer, JOURNAL_VERSION));
            }
            _ => return Err(self.corrupt(&"its format version is unknown")),
        }
        let parts = rest.split_once(' ').and_then(|(sum, body)| {
            let sum = u32::from_str_radix(sum, 16).ok()?;
            Some((sum, body, body.split_once(' ')?.1))
        });
        let Some((sum, body, record)) = parts else {
            return Err(self.corrupt(&"it is incomplete"));
        };
        if sum != self.checksum(body) {
            return Err(self.corrupt(&"the checksum does not match"));
        }
        Ok(record.to_owned())
    }

    fn checksum(self, body: &str) -> u32 {
        let mut hasher = Hasher::new();
        hasher.update(&(self.id.as_str().len() as u64).to_le_bytes());
        hasher.update(self.id.as_str().as_bytes());
        hasher.update(&self.turn.as_u128().to_le_bytes());
        hasher.update(&self.number.to_le_bytes());
        hasher.update(body.as_bytes());
        hasher.finalize()
    }

    fn corrupt(self, reason: &dyn fmt::Display) -> UnreadableRecord {
        UnreadableRecord::corrupt(self.id, self, reason)
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {} of the journal of turn {}", self.number, self.turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::UnreadableProblem;

    fn id() -> MemoryId {
        "klaus".into()
    }

    fn start() -> JournalPosition {
        JournalPosition::start(TurnId::from_u128(7))
    }

    fn append(position: JournalPosition, records: &[&str]) -> PendingAppend {
        let records: Vec<String> = records.iter().map(|&record| record.to_owned()).collect();
        PendingAppend::new(&id(), position, &records)
    }

    fn rows(append: &PendingAppend) -> Vec<(TurnId, u64, String)> {
        let turn = append.position().turn;
        append.rows().iter().map(|(number, text)| (turn, *number, text.clone())).collect()
    }

    #[test]
    fn journal_round_trips() {
        let first = append(start(), &["a", "", "Grüße \0 \n b"]);
        let second = append(first.next(), &["d"]);
        let rows = [rows(&first), rows(&second)].concat();
        let journal = journal(&id(), &rows).unwrap().unwrap();
        assert_eq!(journal.records, ["a", "", "Grüße \0 \n b", "d"]);
        assert_eq!(journal.position(), second.next());
        assert_eq!(super::journal::<&[u8]>(&id(), &[]).unwrap(), None);
    }

    #[test]
    fn rows_in_the_wrong_place_are_corrupt() {
        let rows = rows(&append(start(), &["a", "b"]));
        let other = |change: fn(&mut Vec<(TurnId, u64, String)>)| {
            let mut rows = rows.clone();
            change(&mut rows);
            journal(&id(), &rows).is_err()
        };
        assert!(other(|rows| rows.swap(0, 1)));
        assert!(other(|rows| drop(rows.remove(0))));
        assert!(other(|rows| rows[1].0 = TurnId::from_u128(8)));
        assert!(other(|rows| rows.iter_mut().for_each(|row| row.0 = TurnId::from_u128(8))));
        assert!(journal(&"anna".into(), &rows).is_err());
    }

    #[test]
    fn every_changed_byte_is_detected() {
        let (turn, number, text) = rows(&append(start(), &["abc"])).remove(0);
        for position in 0..text.len() {
            for change in 1..=255 {
                let mut data = text.clone().into_bytes();
                data[position] ^= change;
                match journal(&id(), &[(turn, number, data)]) {
                    Err(_) => {}
                    // A digit of the checksum in upper case.
                    Ok(journal) => assert_eq!(journal.unwrap().records, ["abc"]),
                }
            }
        }
    }

    #[test]
    fn newer_row_requires_an_update() {
        let error = journal(&id(), &[(start().turn, 1, "2 something else")]).unwrap_err();
        assert_eq!(error.problem, UnreadableProblem::Newer { found: 2, supported: 1 });
    }

    #[test]
    fn append_is_settled_by_its_last_row() {
        let mine = append(start(), &["a", "b"]);
        let other = append(start(), &["a", "b"]);
        let last = |append: &PendingAppend| append.rows().last().unwrap().1.clone();
        assert_eq!(mine.settle(None).unwrap(), Settled::NotApplied);
        let error = mine.settle(Some((other.next(), last(&other).as_bytes()))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        mine.lose_answer();
        assert_eq!(mine.settle(None).unwrap(), Settled::NotApplied);
        let own = (mine.next(), last(&mine));
        assert_eq!(mine.settle(Some((own.0, own.1.as_bytes()))).unwrap(), Settled::Applied);
        let error = mine.settle(Some((other.next(), last(&other).as_bytes()))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownOutcome);
    }

    #[test]
    fn later_append_requires_its_position() {
        let first = append(start(), &["a"]);
        let second = append(first.next(), &["b"]);
        let row = first.rows().last().unwrap().1.clone();
        let current = Some((first.next(), row.as_bytes()));
        assert_eq!(second.settle(current).unwrap(), Settled::NotApplied);
        assert_eq!(second.settle(None).unwrap_err().kind(), ErrorKind::Conflict);
    }
}
