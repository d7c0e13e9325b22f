//! Splitting a text into tokens.

use crate::form::error::FormError;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(f64),
    Name(String),
    Text(String),
    Symbol(&'static str),
    End,
}

impl Token {
    pub(super) fn describe(&self) -> String {
        match self {
            Token::Number(x) => format!("`{x}`"),
            Token::Name(n) => format!("`{n}`"),
            Token::Text(t) => format!("'{t}'"),
            Token::Symbol(s) => format!("`{s}`"),
            Token::End => "the end of the text".to_owned(),
        }
    }
}

const SYMBOLS: [&str; 18] = [
    "**", "<=", ">=", "==", "+", "-", "*", "/", "^", "(", ")", "[", "]", ",", "<", ">", "=", ";",
];

/// The tokens of `text` with their byte positions, closed by [`Token::End`].
pub(super) fn tokenize(text: &str) -> Result<Vec<(Token, usize)>, FormError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    'outer: while let Some(c) = text[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        if c.is_ascii_digit() || c == '.' {
            let end = number_end(text.as_bytes(), at);
            let value = text[at..end].parse().ok().filter(|v: &f64| v.is_finite());
            let value = value.ok_or_else(|| {
                error_at(
                    text,
                    at,
                    format!("`{}` is not a finite number", &text[at..end]),
                )
            })?;
            tokens.push((Token::Number(value), at));
            at = end;
            continue;
        }
        if begins_name(c) {
            let rest = &text[at..];
            let end = at + rest.find(|c| !continues_name(c)).unwrap_or(rest.len());
            tokens.push((Token::Name(text[at..end].to_owned()), at));
            at = end;
            continue;
        }
        if c == '\'' || c == '"' {
            let Some(len) = text[at + 1..].find(c) else {
                return Err(error_at(text, at, format!("no closing {c} for this text")));
            };
            let inner = text[at + 1..at + 1 + len].to_owned();
            tokens.push((Token::Text(inner), at));
            at += len + 2;
            continue;
        }
        for symbol in SYMBOLS {
            if text[at..].starts_with(symbol) {
                tokens.push((Token::Symbol(symbol), at));
                at += symbol.len();
                continue 'outer;
            }
        }
        return Err(error_at(text, at, format!("`{c}` has no meaning here")));
    }
    tokens.push((Token::End, text.len()));
    Ok(tokens)
}

fn begins_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether a text is one name.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(begins_name) && text.chars().all(continues_name)
}

/// An error that shows the line of `text` around `position`.
pub(super) fn error_at(text: &str, position: usize, message: String) -> FormError {
    let start = text[..position].rfind('\n').map_or(0, |k| k + 1);
    let line = text[start..].lines().next().unwrap_or("");
    let column = text[start..position].chars().count();
    FormError::Parse {
        message,
        text: line.to_owned(),
        caret: format!("{}^", " ".repeat(column)),
        position,
    }
}

fn number_end(bytes: &[u8], mut at: usize) -> usize {
    let digits = |mut k: usize| {
        while k < bytes.len() && bytes[k].is_ascii_digit() {
            k += 1;
        }
        k
    };
    at = digits(at);
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = matches!(bytes.get(at + 1), Some(b'+' | b'-')) as usize;
        let end = digits(at + 1 + sign);
        if end > at + 1 + sign {
            at = end;
        }
    }
    at
}
