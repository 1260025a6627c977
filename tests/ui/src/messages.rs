//! The form of rustc's messages in the expected files: independent of the location of the workspace, and of
//! line numbers in the library.

use std::path::Path;

/// Number of types in a list of types that implement a trait.
const LISTED_TYPES: usize = 8;

/// Returns the messages for a case in the form of the expected files.
pub(crate) fn normalized(messages: &str, case: &Path, package: &Path, workspace: &Path) -> String {
    let paths = Paths {
        case: case.display().to_string(),
        package: format!("{}/", package.display()),
        workspace: format!("{}/", workspace.display()),
    };
    let lines = shortened(without_places(messages, &paths));
    let blocks = lines.chunk_by(|_, next| !is_heading(next));
    let mut text = blocks.flat_map(with_narrow_gutter).collect::<Vec<_>>().join("\n");
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

struct Paths {
    case: String,
    package: String,
    workspace: String,
}

/// Modules of the standard library whose names rustc prints or leaves out, depending on the features of the
/// library: it prints them if another crate has a type with the same name.
const MODULES: [&str; 4] = ["std::marker::", "std::option::", "std::result::", "std::sync::"];

/// Removes summaries, the paths of folders, and line numbers of other files than the case.
fn without_places(messages: &str, paths: &Paths) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut is_other_file = false;
    for line in messages.lines().filter(|line| !is_summary(line)) {
        let text = line.trim_start();
        let place = text.strip_prefix("--> ").or_else(|| text.strip_prefix("::: "));
        let line = match place {
            Some(place) if place.starts_with(&paths.case) => {
                is_other_file = false;
                line.replacen(&paths.package, "", 1)
            }
            // Cargo compiles the library in the folder of the workspace.
            Some(place) => {
                is_other_file = true;
                let place = place.trim_end_matches(|c: char| c == ':' || c.is_ascii_digit());
                let is_relative = Path::new(place).is_relative();
                line.replace(text, &text[..4])
                    + if is_relative { "$WORKSPACE/" } else { "" }
                    + place
            }
            None => {
                is_other_file &=
                    text.starts_with(|c: char| c == '|' || c == '.' || c.is_ascii_digit());
                if is_other_file { without_number(line) } else { line.to_owned() }
            }
        };
        let is_source = text.starts_with(|c: char| c.is_ascii_digit());
        let modules = MODULES.iter().filter(|_| !is_source);
        let line = modules.fold(line, |line, module| line.replace(module, ""));
        let line = line.replace(&paths.package, "$DIR/").replace(&paths.workspace, "$WORKSPACE/");
        let is_second_blank = line.is_empty() && lines.last().is_none_or(String::is_empty);
        if !is_second_blank {
            lines.push(line.trim_end().to_owned());
        }
    }
    lines
}

fn is_summary(line: &str) -> bool {
    let starts = [
        "error: aborting due to ",
        "For more information about ",
        "Some errors have detailed explanations:",
    ];
    starts.iter().any(|start| line.starts_with(start))
}

/// Replaces a line number by spaces.
fn without_number(line: &str) -> String {
    let number =
        line.len() - line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit()).len();
    format!("{:number$}{}", "", line.get(number..).unwrap_or_default())
}

/// Shortens lists of types that implement a trait, because their length depends on the features of the library.
fn shortened(lines: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut listed = None;
    let mut lines = lines.into_iter().peekable();
    while let Some(line) = lines.next() {
        let text = line.trim_start();
        let indentation = line.len() - text.len();
        if text.starts_with("= help: the following types implement trait ")
            || text.starts_with("= help: the following other types implement trait ")
        {
            listed = Some(0);
        } else if let Some(count) = listed.as_mut().filter(|_| indentation >= 12) {
            *count += 1;
            let has_next = lines.peek().is_some_and(|next| next.starts_with(&" ".repeat(12)));
            if *count == LISTED_TYPES + 1 && has_next {
                kept.push(format!("{:1$}and $N others", "", indentation - 2));
                continue;
            }
            if *count > LISTED_TYPES + 1 {
                continue;
            }
        } else {
            listed = None;
        }
        kept.push(line);
    }
    kept
}

fn is_heading(line: &str) -> bool {
    ["error", "warning"].iter().any(|level| {
        line.strip_prefix(level).is_some_and(|rest| rest.starts_with(':') || rest.starts_with('['))
    })
}

/// Narrows the column of line numbers of one message to its widest number: a removed number was possibly wider.
fn with_narrow_gutter(block: &[String]) -> Vec<String> {
    let unused = block.iter().filter_map(|line| unused_gutter(line)).min().unwrap_or(0);
    let narrow = |line: &String| {
        let is_continued = line.starts_with(&" ".repeat(11));
        match line.split_once(' ') {
            Some((start, rest)) if is_continued || unused_gutter(line).is_some() => {
                format!("{start}{}", &format!(" {rest}")[unused..])
            }
            _ => line.clone(),
        }
    };
    block.iter().map(narrow).collect()
}

/// Returns by how many columns the gutter of a line is wider than its number, or `None` for a line without one.
fn unused_gutter(line: &str) -> Option<usize> {
    let spaces = |text: &str| text.len() - text.trim_start_matches(' ').len();
    if let Some(rest) = line.strip_prefix("... ") {
        return Some(spaces(rest));
    }
    let numbered = line.trim_start_matches(' ');
    let text = numbered.trim_start_matches(|c: char| c.is_ascii_digit());
    let has_number = text.len() < numbered.len();
    let unused = spaces(line) + spaces(text);
    let text = text.trim_start_matches(' ');
    let is_mark = |mark: &str| text == mark || text.starts_with(&format!("{mark} "));
    let marks: &[&str] = if has_number { &["|", "~", "+", "-"] } else { &["|", "-->", ":::", "="] };
    if marks.iter().any(|mark| is_mark(mark)) { unused.checked_sub(1) } else { None }
}
