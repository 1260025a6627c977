//! Cutting of a text into pieces of limited size.

use super::TextMeasure;
use super::breaks::{Break, breaks, joins};
use super::measure::{Measure, before};
use std::ops::Range;

/// The size limits of segments.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    pub(super) max: usize,
    /// Maximum size of the repeated end of the previous segment; at most half of `max`, so that at least half
    /// of a segment is new and the running time stays linear.
    pub(super) overlap: usize,
    pub(super) measure: TextMeasure,
}

/// Maximum number of characters by which a cut between joined characters is moved back.
const MAX_JOINED: usize = 32;

/// Maximum number of start positions that are tried for an overlap of unknown size.
const MAX_TRIES: usize = 8;

/// Returns the pieces of a range of a text, in order and without surrounding white space. Every character
/// that is not white space is in a piece. The ranges in `kept`, in order, stay whole if they fit.
pub(super) fn cut(
    text: &str,
    range: Range<usize>,
    kept: &[Range<usize>],
    limits: &Limits,
) -> Vec<Range<usize>> {
    let Some(text) = text.get(..range.end) else { return Vec::new() };
    Cutter { text, kept, limits, hint: limits.max, hint_back: limits.overlap }.cut(range.start)
}

struct Cutter<'a> {
    /// The text up to the end of the range.
    text: &'a str,
    kept: &'a [Range<usize>],
    limits: &'a Limits,
    /// Number of bytes of the previous piece.
    hint: usize,
    /// Number of bytes of the previous overlap.
    hint_back: usize,
}

impl Cutter<'_> {
    fn cut(mut self, start: usize) -> Vec<Range<usize>> {
        let mut pieces = Vec::new();
        // The text before `done` is in a piece; the next piece starts there or, with an overlap, earlier.
        let mut done = self.next_visible(start);
        let mut start = done;
        while done < self.text.len() {
            let Some(stop) = self.stop(start, done) else {
                // The overlap leaves no room for new text.
                start = done;
                continue;
            };
            let piece = start..start + self.part(start, stop).trim_end().len();
            done = self.next_visible(stop);
            start = self.next_start(&piece, done);
            pieces.push(piece);
        }
        pieces
    }

    /// Returns the end of the piece from `start`, which is after `done`; `None` if the piece has to start
    /// later.
    fn stop(&mut self, start: usize, done: usize) -> Option<usize> {
        let rest = self.part(start, self.text.len());
        let fitting = self.limits.measure.fitting_prefix(rest, self.limits.max, self.hint);
        self.hint = fitting.max(1);
        let mut limit = start + fitting;
        loop {
            if limit <= done {
                // A character that is larger than the maximum is a separate piece.
                return (start == done).then(|| done + self.first_length(done));
            }
            let stop = self.best(start, done, limit);
            if self.fits(start, stop) {
                return Some(stop);
            }
            // With some measures, a part is larger than the whole.
            limit = before(self.text, stop.saturating_sub(1));
        }
    }

    /// Returns the best position to cut between `done` and `limit`: after the largest unit that leaves at
    /// least half a piece, else after a word, else between characters.
    fn best(&self, start: usize, done: usize, limit: usize) -> usize {
        if limit >= self.text.len() {
            return self.text.len();
        }
        if let Some(kept) = self.kept_around(limit)
            && kept.start > done
            && self.fits(kept.start, kept.end)
        {
            return kept.start;
        }
        let half = start + (limit - start) / 2;
        let mut best: Option<(Break, usize)> = None;
        let mut last = None;
        breaks(self.text, start, limit, |at, level| {
            if at <= done {
                return;
            }
            last = Some(at);
            let level = match self.kept_around(at) {
                Some(_) if level <= Break::Line => Break::Row,
                Some(_) => Break::Word,
                None => level,
            };
            if at >= half && best.is_none_or(|(best, _)| level <= best) {
                best = Some((level, at));
            }
        });
        best.map(|(_, at)| at).or(last).unwrap_or_else(|| self.between_characters(done, limit))
    }

    /// Returns a position at `limit` or slightly before that does not separate joined characters.
    fn between_characters(&self, done: usize, limit: usize) -> usize {
        let mut after = self.part(limit, self.text.len()).chars().next();
        let mut at = limit;
        for before in self.part(done, limit).chars().rev().take(MAX_JOINED) {
            match after {
                Some(after) if joins(before, after) => at -= before.len_utf8(),
                _ => return at,
            }
            after = Some(before);
        }
        limit
    }

    /// Returns the start of the next piece: `done`, or earlier by the overlap.
    fn next_start(&mut self, piece: &Range<usize>, done: usize) -> usize {
        if self.limits.overlap == 0 || done >= self.text.len() {
            return done;
        }
        let Some(start) = self.repeated(piece) else { return done };
        // An overlap must not split a range that would fit without it.
        let kept = self.kept.get(self.kept.partition_point(|kept| kept.start < done));
        match kept.filter(|kept| kept.start == done) {
            Some(kept) if !self.fits(start, kept.end) => done,
            _ => start,
        }
    }

    /// Returns the position in a piece at which the overlap starts: at a sentence if possible, else at a
    /// word.
    fn repeated(&mut self, piece: &Range<usize>) -> Option<usize> {
        let Limits { overlap, measure, .. } = self.limits;
        let fitting =
            measure.fitting_suffix(self.part(piece.start, piece.end), *overlap, self.hint_back);
        self.hint_back = fitting.max(1);
        let low = (piece.end - fitting).max(piece.start + 1);
        let (mut sentences, mut words) = (Vec::new(), Vec::new());
        breaks(self.text, piece.start, piece.end, |at, level| {
            let begin = self.next_visible(at);
            if begin < low || begin >= piece.end || self.kept_around(begin).is_some() {
                return;
            }
            let list = if level <= Break::Sentence { &mut sentences } else { &mut words };
            if list.len() < MAX_TRIES {
                list.push(begin);
            }
        });
        let fits = |begin: &usize| match measure.0 {
            Measure::Characters => true,
            Measure::Counted(_) => measure.size(self.part(*begin, piece.end)) <= *overlap,
        };
        sentences.into_iter().chain(words).find(fits)
    }

    /// Returns the range that should stay whole around this position, if there is one.
    fn kept_around(&self, at: usize) -> Option<&Range<usize>> {
        let index = self.kept.partition_point(|kept| kept.end <= at);
        self.kept.get(index).filter(|kept| kept.start < at)
    }

    fn fits(&self, start: usize, stop: usize) -> bool {
        self.limits.measure.size(self.part(start, stop).trim()) <= self.limits.max
    }

    fn next_visible(&self, at: usize) -> usize {
        let rest = self.part(at, self.text.len());
        self.text.len() - rest.trim_start().len()
    }

    /// Returns the length of the character at this position in bytes.
    fn first_length(&self, at: usize) -> usize {
        self.part(at, self.text.len()).chars().next().map_or(1, char::len_utf8)
    }

    fn part(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).unwrap_or_default()
    }
}
