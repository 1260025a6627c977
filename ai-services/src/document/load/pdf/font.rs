//! Which characters the bytes of a font stand for.

use lopdf::{Dictionary, Document as Pdf, Encoding, Object, ObjectId};
use std::collections::BTreeMap;

/// How many characters a table of a font may name. A line of it can name four thousand million, and each
/// would take room in memory. No font has more than 65,536.
const MAX_CODES: u64 = 200_000;

/// The fonts of a page by the names that it gives them.
pub(super) struct Fonts<'a>(BTreeMap<Vec<u8>, Font<'a>>);

struct Font<'a> {
    encoding: Encoding<'a>,
    /// The code of the first character whose width is known, and the widths, in thousandths of the size.
    widths: Option<(usize, Vec<f32>)>,
}

impl<'a> Fonts<'a> {
    /// Fonts that cannot be read are left out, and so is the text in them.
    pub(super) fn of(pdf: &'a Pdf, page: ObjectId, max_unpacked: usize) -> Self {
        let fonts = pdf.get_page_fonts(page).unwrap_or_default();
        let readable = fonts.into_iter().filter_map(|(name, font)| {
            if is_oversized(pdf, font, max_unpacked) {
                return None;
            }
            let encoding = font.get_font_encoding_with_limit(pdf, max_unpacked).ok()?;
            Some((name, Font { encoding, widths: widths(pdf, font) }))
        });
        Self(readable.collect())
    }

    /// The characters that the bytes stand for in a font.
    pub(super) fn decode(&self, font: &[u8], bytes: &[u8]) -> Option<String> {
        Pdf::decode_text(&self.0.get(font)?.encoding, bytes).ok()
    }

    /// How wide the bytes are in a font of size 1, if the file says so.
    pub(super) fn width(&self, font: &[u8], bytes: &[u8]) -> Option<f32> {
        let (first, widths) = self.0.get(font)?.widths.as_ref()?;
        let width =
            |byte: &u8| usize::from(*byte).checked_sub(*first).and_then(|at| widths.get(at));
        bytes.iter().map(width).sum::<Option<f32>>().map(|sum| sum / 1000.0)
    }
}

/// The widths of a font with one byte a character.
fn widths(pdf: &Pdf, font: &Dictionary) -> Option<(usize, Vec<f32>)> {
    let first = usize::try_from(font.get(b"FirstChar").ok()?.as_i64().ok()?).ok()?;
    let (_, widths) = pdf.dereference(font.get(b"Widths").ok()?).ok()?;
    Some((first, widths.as_array().ok()?.iter().take(256).filter_map(number).collect()))
}

/// A number of either kind.
pub(super) fn number(object: &Object) -> Option<f32> {
    match object {
        #[allow(clippy::cast_precision_loss, reason = "what is on a page is small")]
        Object::Integer(number) => Some(*number as f32),
        Object::Real(number) => Some(*number),
        _ => None,
    }
}

/// Whether the table of a font names more characters than there are.
fn is_oversized(pdf: &Pdf, font: &Dictionary, max_unpacked: usize) -> bool {
    let table = font.get(b"ToUnicode").and_then(|table| pdf.dereference(table));
    let Ok((_, Object::Stream(table))) = table else { return false };
    match table.get_plain_content_with_limit(max_unpacked) {
        Ok(content) => codes(&content) > MAX_CODES,
        Err(_) => true,
    }
}

/// How many characters a table names: the ranges in it are `<first> <last> <character>`.
fn codes(table: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(table);
    let mut sum: u64 = 0;
    for section in text.split("beginbfrange").skip(1) {
        let section = section.split("endbfrange").next().unwrap_or_default();
        // What is behind an opening bracket up to the closing one; the lists of single characters that
        // stand for a range shift the pairs, so every pair is looked at.
        let codes: Vec<u64> = section
            .split('<')
            .skip(1)
            .map(|code| code.split('>').next().unwrap_or_default())
            .map(|code| code.split_whitespace().collect::<String>())
            .map(|code| u64::from_str_radix(&code, 16).unwrap_or(u64::MAX))
            .collect();
        let mut ranges = codes.chunks_exact(3);
        if section.contains('[') {
            // Such a list is as long as its range.
            sum = sum.saturating_add(codes.len() as u64);
        } else {
            for range in &mut ranges {
                if let [first, last, _] = range {
                    sum = sum.saturating_add(last.saturating_sub(*first).saturating_add(1));
                }
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_a_table_are_counted() {
        let table = b"2 beginbfrange\n<0000> <00FF> <0041>\n<0100><01ff><0141> endbfrange";
        assert_eq!(codes(table), 512);
        assert_eq!(codes(b"1 beginbfrange <01> <03> [<41> <42> <43>] endbfrange"), 5);
        assert!(codes(b"beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange") > MAX_CODES);
        assert_eq!(codes(b"beginbfchar <01> <0041> endbfchar"), 0);
    }
}
