//! Recognition of arithmetic in a sentence.

/// Words for operators, and their symbols.
const OPERATOR_WORDS: [(&str, &str); 8] = [
    (" times ", " * "),
    (" multiplied by ", " * "),
    (" plus ", " + "),
    (" minus ", " - "),
    (" divided by ", " / "),
    (" percent of ", "% of "),
    ("×", "*"),
    ("÷", "/"),
];

const FUNCTIONS: [&str; 7] = ["sqrt", "sin", "cos", "tan", "ln", "log", "abs"];

/// Returns the first expression in a text, for example `17% of 340` in `What is 17% of 340?`.
pub(super) fn expression(text: &str) -> Option<String> {
    let mut text = text.to_lowercase();
    for (word, symbol) in OPERATOR_WORDS {
        text = text.replace(word, symbol);
    }
    let tokens = tokens(&text);
    let runs = tokens.split(|token| !is_arithmetic(token));
    runs.map(trim).find(|run| is_calculation(run)).map(format_expression)
}

/// Splits a text into numbers, words and single characters.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut last = ' ';
    for c in text.chars() {
        let continues = match c {
            '0'..='9' | '.' | ',' => last.is_ascii_digit() || last == '.' && c.is_ascii_digit(),
            c => c.is_alphabetic() && last.is_alphabetic(),
        };
        // A comma inside a number separates thousands; a comma after it belongs to the sentence.
        match tokens.last_mut() {
            Some(token) if continues => token.push(c),
            Some(token) if c.is_ascii_digit() && token.ends_with(',') && last == ',' => {
                token.push(c);
            }
            _ if c.is_whitespace() => {}
            _ => tokens.push(c.to_string()),
        }
        last = c;
    }
    for token in &mut tokens {
        if token.len() > 1 {
            token.truncate(token.trim_end_matches(['.', ',']).len());
        }
    }
    tokens
}

fn is_number(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_digit())
}

fn is_arithmetic(token: &str) -> bool {
    is_number(token)
        || matches!(
            token,
            "+" | "-" | "*" | "/" | "^" | "!" | "%" | "(" | ")" | "of" | "pi" | "mod"
        )
        || FUNCTIONS.contains(&token)
}

/// Removes the tokens at both ends that belong to the sentence.
fn trim(mut run: &[String]) -> &[String] {
    while let [first, rest @ ..] = run {
        let may_begin = is_number(first)
            || matches!(first.as_str(), "-" | "(" | "pi")
            || FUNCTIONS.contains(&first.as_str());
        if may_begin {
            break;
        }
        run = rest;
    }
    while let [rest @ .., last] = run {
        if is_number(last) || matches!(last.as_str(), ")" | "!" | "%" | "pi") {
            break;
        }
        run = rest;
    }
    run
}

/// Formats the tokens with the usual spaces.
fn format_expression(run: &[String]) -> String {
    let mut text = String::new();
    let mut glued = true;
    for token in run {
        let token = token.as_str();
        if !glued && !matches!(token, ")" | "!" | "%" | "^") {
            text.push(' ');
        }
        // A minus without a number before it is a sign.
        let is_sign = token == "-" && !text.ends_with(|c: char| c.is_ascii_digit() || c == ' ');
        text.push_str(token);
        glued = is_sign || matches!(token, "(" | "^") || FUNCTIONS.contains(&token);
    }
    text
}

/// Returns whether the run has numbers and an operator or a function.
fn is_calculation(run: &[String]) -> bool {
    let numbers = run.iter().filter(|token| is_number(token)).count();
    let has_function = run.iter().any(|token| FUNCTIONS.contains(&token.as_str()));
    let has_factorial = run.iter().any(|token| token == "!");
    numbers >= 2 && run.len() > numbers || numbers == 1 && (has_function || has_factorial)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_recognized() {
        for (text, found) in [
            ("What is 12*31?", "12 * 31"),
            ("what's 17% of 340", "17% of 340"),
            ("12 times 31, please.", "12 * 31"),
            ("Calculate (1 + 2) * 3.5.", "(1 + 2) * 3.5"),
            ("sqrt(2)?", "sqrt(2)"),
            ("1,000*3", "1,000 * 3"),
            ("2^0.5 and then", "2^0.5"),
            ("5!", "5!"),
            ("-3+4", "-3 + 4"),
        ] {
            assert_eq!(expression(text).as_deref(), Some(found), "{text}");
        }
    }

    #[test]
    fn other_text_has_no_expression() {
        for text in
            ["", "hello", "I am 42.", "a lot of people", "forget note 2", "50% of it", "(a)"]
        {
            assert_eq!(expression(text), None, "{text}");
        }
    }
}
