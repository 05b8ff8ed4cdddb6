// SPDX-License-Identifier: GPL-2.0

//! Just enough of Rust's lexical grammar to tell code from comments and literals.

/// Replaces comments and the inside of literals by spaces; lines stay where they are.
pub fn code_only(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match skipped(&chars, at) {
            // A source may end in the middle of anything.
            Some(end) => end.min(chars.len()),
            None => {
                out.push(chars[at]);
                at += 1;
                continue;
            }
        };
        for &c in &chars[at..end] {
            out.push(if c == '\n' { '\n' } else { ' ' });
        }
        at = end;
    }
    out
}

/// The numbers of the lines in which the word `word` is code.
pub fn lines_with_word(source: &str, word: &str) -> Vec<usize> {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    code_only(source)
        .lines()
        .enumerate()
        .filter(|(_, line)| line.split(|c| !in_word(c)).any(|part| part == word))
        .map(|(index, _)| index + 1)
        .collect()
}

/// Where the comment or literal that starts at `at` ends, if one does.
fn skipped(chars: &[char], at: usize) -> Option<usize> {
    let next = chars.get(at + 1).copied();
    match chars[at] {
        '/' if next == Some('/') => Some(find(chars, at, |c| c == '\n')),
        '/' if next == Some('*') => Some(block_comment(chars, at)),
        '"' => Some(string(chars, at + 1)),
        'r' if starts_word(chars, at) || prefixed(chars, at) => raw_string(chars, at + 1),
        '\'' => character(chars, at),
        _ => None,
    }
}

fn find(chars: &[char], from: usize, wanted: impl Fn(char) -> bool) -> usize {
    (from..chars.len())
        .find(|index| wanted(chars[*index]))
        .unwrap_or(chars.len())
}

fn starts_word(chars: &[char], at: usize) -> bool {
    at == 0 || !(chars[at - 1].is_alphanumeric() || chars[at - 1] == '_')
}

/// Whether an `r` is that of `br"` or `cr"`.
fn prefixed(chars: &[char], at: usize) -> bool {
    at > 0 && matches!(chars[at - 1], 'b' | 'c') && starts_word(chars, at - 1)
}

fn block_comment(chars: &[char], from: usize) -> usize {
    let mut depth = 0;
    let mut at = from;
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => {
                depth += 1;
                at += 2;
            }
            ('*', '/') => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    chars.len()
}

/// The end of a string whose inside starts at `from`.
fn string(chars: &[char], from: usize) -> usize {
    let mut at = from;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// The end of a raw string whose hashes start at `from`; none if it is a raw identifier or none.
fn raw_string(chars: &[char], from: usize) -> Option<usize> {
    let quote = find(chars, from, |c| c != '#');
    if chars.get(quote) != Some(&'"') {
        return None;
    }
    let hashes = quote - from;
    let mut at = quote + 1;
    loop {
        at = find(chars, at, |c| c == '"') + 1;
        if at > chars.len() {
            return Some(chars.len());
        }
        if chars[at..]
            .iter()
            .take(hashes)
            .filter(|c| **c == '#')
            .count()
            == hashes
        {
            return Some(at + hashes);
        }
    }
}

/// The end of a character literal; none if the quote starts a lifetime or a label.
fn character(chars: &[char], at: usize) -> Option<usize> {
    if chars.get(at + 1) == Some(&'\\') {
        return Some(find(chars, at + 3, |c| c == '\'') + 1);
    }
    (chars.get(at + 2) == Some(&'\'')).then_some(at + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_no_code() {
        let source = "\
// unsafe here
/* unsafe /* and */ unsafe */ let a = \"unsafe \\\" unsafe\";
let b = r#\"unsafe \" unsafe\"#; let c = br\"unsafe\";
let d: &'static str = f('\"', '\\'', 'u');
unsafe { g() }
let not_unsafe = 1; r#unsafe_ident
#[unsafe(no_mangle)]
";
        assert_eq!(lines_with_word(source, "unsafe"), [5, 7]);
    }

    #[test]
    fn lines_stay_where_they_are() {
        let source = "a /* x\ny */ b\n\"p\nq\" c\n";
        let code = code_only(source);
        assert_eq!(code.lines().count(), source.lines().count());
        assert_eq!(code.lines().nth(1).unwrap().trim(), "b");
        assert_eq!(code.lines().nth(3).unwrap().trim(), "c");
    }

    #[test]
    fn an_end_in_the_middle_is_survived() {
        for source in ["\"abc", "/* abc", "r#\"abc", "'\\", "'", "r", "b'"] {
            assert_eq!(code_only(source).chars().count(), source.chars().count());
        }
    }
}
