//! Loading of PDF files.

use super::value;
use ai_services::document::{Document, LoadError, LoadErrorKind, key, load_bytes};
use proptest::prelude::*;

const HELVETICA: &str =
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";

/// Returns a file with these pages, a font `F1`, more objects, and `trailer` in its trailer.
fn pdf(pages: &[&str], font: &str, trailer: &str, more: &[&str]) -> Vec<u8> {
    let first = 4 + more.len();
    let kids: Vec<_> = (0..pages.len()).map(|page| format!("{} 0 R", first + 2 * page)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), pages.len()),
        font.to_owned(),
    ];
    objects.extend(more.iter().map(|object| (*object).to_owned()));
    for (number, page) in pages.iter().enumerate() {
        let content = first + 2 * number + 1;
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {content} 0 R \
             /Resources << /Font << /F1 3 0 R >> >> >>"
        ));
        objects.push(format!("<< /Length {} >>\nstream\n{page}\nendstream", page.len()));
    }
    let mut file = "%PDF-1.4\n".to_owned();
    let mut places = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        places.push(file.len());
        file += &format!("{} 0 obj\n{object}\nendobj\n", number + 1);
    }
    let start = file.len();
    file += &format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for place in places {
        file += &format!("{place:010} 00000 n \n");
    }
    let size = objects.len() + 1;
    file +=
        &format!("trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n");
    file.into_bytes()
}

async fn load(bytes: Vec<u8>) -> Result<Vec<Document>, LoadError> {
    load_bytes("a.pdf", bytes).await
}

async fn text(page: &str) -> String {
    let [page] = <[_; 1]>::try_from(load(pdf(&[page], HELVETICA, "", &[])).await.unwrap()).unwrap();
    page.text().to_owned()
}

#[tokio::test]
async fn each_page_is_a_document() {
    let pages =
        ["BT /F1 12 Tf 50 700 Td (One.) Tj ET", "", "BT /F1 12 Tf 50 700 Td (Three.) Tj ET"];
    let info = "<< /Title (Counting) >>";
    let documents = load(pdf(&pages, HELVETICA, "/Info 4 0 R", &[info])).await.unwrap();
    let described: Vec<_> = documents
        .iter()
        .map(|page| {
            let of = |key| value(page.metadata(), key).unwrap();
            (page.text(), of(key::PAGE), of(key::TITLE), of(key::SOURCE))
        })
        .collect();
    let rest = || ("Counting".to_owned(), "a.pdf".to_owned());
    let page = |text, number: &str| (text, number.to_owned(), rest().0, rest().1);
    assert_eq!(described, [page("One.", "1"), page("Three.", "3")]);
}

#[tokio::test]
async fn positions_separate_lines_and_words() {
    let lines = "BT /F1 10 Tf 50 700 Td (One) Tj 40 0 Td (two) Tj 0 -12 Td (three) Tj 0 -30 Td (four) Tj ET";
    assert_eq!(text(lines).await, "One two\nthree\n\nfour");
    let matrices = "BT /F1 1 Tf 10 0 0 10 50 700 Tm (One) Tj 10 0 0 10 50 688 Tm (two) Tj ET";
    assert_eq!(text(matrices).await, "One\ntwo");
    let leading = "BT /F1 10 Tf 12 TL 50 700 Td (One) Tj T* (two) Tj (three) ' 0 0 (four) \" ET";
    assert_eq!(text(leading).await, "One\ntwo\nthree\nfour");
}

#[tokio::test]
async fn pieces_of_a_word_stay_together() {
    let kerned = "BT /F1 10 Tf 50 700 Td [(W) 80 (ord) -250 (and) -300 (more)] TJ ( tail) Tj ET";
    assert_eq!(text(kerned).await, "Word and more tail");
    let split = "BT /F1 10 Tf 50 700 Td (Wor) Tj (d) Tj ET";
    assert_eq!(text(split).await, "Word");
    let letters = "BT /F1 10 Tf 50 700 Td (a) Tj 6 0 Td (b) Tj 14 0 Td (c) Tj ET";
    assert_eq!(text(letters).await, "ab c");
}

#[tokio::test]
async fn widths_separate_words_if_present() {
    let font = "<< /Type /Font /Subtype /Type1 /BaseFont /X /Encoding /WinAnsiEncoding \
                /FirstChar 97 /LastChar 99 /Widths [500 500 500] >>";
    let page = "BT /F1 10 Tf 50 700 Td (abc) Tj 15 0 Td (ab) Tj 13 0 Td (c) Tj ET";
    let documents = load(pdf(&[page], font, "", &[])).await.unwrap();
    assert_eq!(documents[0].text(), "abcab c");
}

#[tokio::test]
async fn special_characters_are_decoded() {
    assert_eq!(text("BT /F1 10 Tf 9 9 Td (caf\\351 \\(\\226\\)) Tj ET").await, "café (–)");
}

#[tokio::test]
async fn file_without_text_is_an_error() {
    for pages in [vec![], vec![""], vec!["0 0 10 10 re f"]] {
        let error = load(pdf(&pages, HELVETICA, "", &[])).await.unwrap_err();
        assert_eq!(error.kind(), LoadErrorKind::Unsupported, "{error}");
    }
}

#[tokio::test]
async fn encrypted_file_is_named() {
    let zeros = "0".repeat(64);
    let encrypt = format!("<< /Filter /Standard /V 1 /R 2 /O <{zeros}> /U <{zeros}> /P -4 >>");
    let trailer = "/Encrypt 4 0 R /ID [<00> <00>]";
    let file = pdf(&["BT /F1 9 Tf (x) Tj ET"], HELVETICA, trailer, &[&encrypt]);
    let error = load(file).await.unwrap_err();
    assert_eq!(error.kind(), LoadErrorKind::Encrypted, "{error}");
}

#[tokio::test]
async fn damaged_file_is_an_error() {
    let whole = pdf(&["BT /F1 9 Tf (x) Tj ET"], HELVETICA, "", &[]);
    for bytes in [b"".to_vec(), b"%PDF-1.7\n".to_vec(), b"no pdf".to_vec(), whole[..40].to_vec()] {
        let error = load(bytes).await.unwrap_err();
        assert_eq!(error.kind(), LoadErrorKind::Damaged, "{error}");
    }
}

#[tokio::test]
async fn huge_font_table_is_not_expanded() {
    let table = "1 begincodespacerange <00000000> <FFFFFFFF> endcodespacerange\n\
                 1 beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange";
    let stream = format!("<< /Length {} >>\nstream\n{table}\nendstream", table.len());
    let font =
        "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /ToUnicode 4 0 R >>";
    let error = load(pdf(&["BT /F1 9 Tf (x) Tj ET"], font, "", &[&stream])).await.unwrap_err();
    assert_eq!(error.kind(), LoadErrorKind::Unsupported, "{error}");
}

/// The same array a hundred times, or one array that is too large on its own.
#[tokio::test]
async fn memory_of_compressed_objects_is_limited() {
    let packed = |index: &str, objects: &str| {
        let (first, length) = (index.len(), index.len() + objects.len());
        format!(
            "<< /Type /ObjStm /N 100 /First {first} /Length {length} >>\nstream\n{index}{objects}\nendstream"
        )
    };
    let index: String = (100..200).map(|number| format!("{number} 0 ")).collect();
    let same = packed(&index, &format!("[{}]", "0 ".repeat(50_000)));
    let large = packed("100 0 ", &format!("[{}]", "0 ".repeat(4_200_000)));
    for hostile in [same, large] {
        let page = "BT /F1 9 Tf (x) Tj ET";
        let error = load(pdf(&[page], HELVETICA, "", &[&hostile])).await.unwrap_err();
        assert_eq!(error.kind(), LoadErrorKind::TooLarge, "{error}");
    }
    // Separate objects are accepted, regardless of their number.
    let index: String =
        (100..300).map(|number| format!("{number} {} ", 4 * (number - 100))).collect();
    let title = packed(&index, &format!("(T) {}", "[0] ".repeat(199)));
    let pages = ["BT /F1 9 Tf (x) Tj ET"];
    let documents = load(pdf(&pages, HELVETICA, "/Info << /Title 100 0 R >>", &[&title])).await;
    assert_eq!(value(documents.unwrap()[0].metadata(), key::TITLE).as_deref(), Some("T"));
}

#[tokio::test]
async fn page_with_too_many_operators_is_too_large() {
    let error = load(pdf(&[&"q ".repeat(2_000_001)], HELVETICA, "", &[])).await.unwrap_err();
    assert_eq!(error.kind(), LoadErrorKind::TooLarge, "{error}");
}

/// Deep nesting must not overflow the stack.
#[tokio::test]
async fn deep_nesting_does_not_crash() {
    for (open, close) in [("[", "]"), ("<< /a ", ">>"), ("(", ")")] {
        let deep = format!("{}{}", open.repeat(100_000), close.repeat(100_000));
        drop(load(pdf(&[&format!("{deep} Tj")], HELVETICA, "", &[])).await);
        drop(load(pdf(&["BT /F1 9 Tf (x) Tj ET"], HELVETICA, "/Info 4 0 R", &[&deep])).await);
        drop(load(pdf(&["BT ET"], HELVETICA, &format!("/X {deep}"), &[])).await);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_file_does_not_panic(at in 0_usize..900, byte in any::<u8>(), cut in 0_usize..900) {
        let pages = ["BT /F1 12 Tf 50 700 Td (One.) Tj ET"];
        let mut file = pdf(&pages, HELVETICA, "/Info 4 0 R", &["<< /Title (x) >>"]);
        if let Some(place) = file.get_mut(at) {
            *place = byte;
        }
        file.truncate(file.len().saturating_sub(cut / 10));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        // The result does not matter, only that loading returns.
        drop(runtime.block_on(load(file)));
    }
}
