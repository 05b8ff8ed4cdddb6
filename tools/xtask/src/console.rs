// SPDX-License-Identifier: GPL-2.0

//! What a guest writes: files that grow while it runs, and the exit status at the end of one of them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reader of a file that another process is still writing.
pub struct Tail {
    file: File,
    total: u64,
}

impl Tail {
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: File::open(path)?,
            total: 0,
        })
    }

    /// What was added since the last call.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut data = Vec::new();
        self.file.read_to_end(&mut data)?;
        self.total += data.len() as u64;
        Ok(data)
    }

    /// How much there was so far.
    pub fn total(&self) -> u64 {
        self.total
    }
}

/// Separates a script's output from its exit status.
///
/// The guest ends the output with the line `TOKEN STATUS TOKEN`. The token is a random word that no script was told, so
/// nothing else can look like it; an output that was cut off has no complete line, and then there is no status.
pub struct Output {
    token: String,
    held: Vec<u8>,
    status: Option<u8>,
}

impl Output {
    pub fn new(token: &str) -> Self {
        Self {
            token: token.to_owned(),
            held: Vec::new(),
            status: None,
        }
    }

    /// Takes what the guest wrote and returns the part of it that is certainly the script's.
    pub fn feed(&mut self, data: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(data);
        let token = self.token.as_bytes();
        let found = self
            .held
            .windows(token.len())
            .position(|window| window == token);
        if let Some(at) = found {
            let script = self.held.drain(..at).collect();
            self.status = parse_status(&self.held, &self.token);
            return script;
        }
        // The end may be the beginning of the token.
        let longest = token.len().min(self.held.len());
        let keep = (0..=longest)
            .rev()
            .find(|length| self.held.ends_with(&token[..*length]))
            .unwrap_or(0);
        let end = self.held.len() - keep;
        self.held.drain(..end).collect()
    }

    /// The rest, when nothing more will come: the script's exit status, and output that was held back for nothing.
    pub fn finish(self) -> (Option<u8>, Vec<u8>) {
        match self.status {
            Some(status) => (Some(status), Vec::new()),
            None => (None, self.held),
        }
    }
}

fn parse_status(line: &[u8], token: &str) -> Option<u8> {
    let line = std::str::from_utf8(line).ok()?;
    let (line, _) = line.split_once('\n')?;
    let status = line
        .trim_end_matches('\r')
        .strip_prefix(token)?
        .strip_prefix(' ')?
        .strip_suffix(token)?
        .strip_suffix(' ')?;
    status.parse().ok()
}

/// The last `count` lines of a text.
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn run(pieces: &[&str]) -> (String, Option<u8>) {
        let mut output = Output::new("a5a5");
        let mut script = Vec::new();
        for piece in pieces {
            script.extend(output.feed(piece.as_bytes()));
        }
        let (status, rest) = output.finish();
        script.extend(rest);
        (String::from_utf8(script).unwrap(), status)
    }

    #[test]
    fn the_status_is_taken_out_of_the_output() {
        let cases: &[(&[&str], &str, Option<u8>)] = &[
            (&["hello\na5a5 0 a5a5\n"], "hello\n", Some(0)),
            (&["hello\na5a5 7 a5a5\r\n"], "hello\n", Some(7)),
            (
                &["no newline at enda5a5 1 a5a5\n"],
                "no newline at end",
                Some(1),
            ),
            (
                &["hel", "lo\na", "5a5 25", "5 a5a5", "\n"],
                "hello\n",
                Some(255),
            ),
            (&["a5a5 0 a5a5\n"], "", Some(0)),
            (&["a5 a5a a5a", "5 3 a5a5\n"], "a5 a5a ", Some(3)),
        ];
        for (pieces, text, status) in cases {
            assert_eq!(run(pieces), ((*text).to_owned(), *status), "{pieces:?}");
        }
    }

    #[test]
    fn an_output_that_was_cut_off_has_no_status() {
        for text in [
            "",
            "hello\n",
            "hello\na5a5",
            "hello\na5a5 0",
            "hello\na5a5 0 a5a5",
            "hello\na5a5 0 a5\n",
            "hello\na5a5 256 a5a5\n",
            "hello\na5a5 x a5a5\n",
            "hello\na5a5  a5a5\n",
        ] {
            let (script, status) = run(&[text]);
            assert_eq!(status, None, "{text:?}");
            assert_eq!(script, text, "nothing is lost");
        }
    }

    #[test]
    fn output_is_passed_on_at_once() {
        let mut output = Output::new("a5a5");
        assert_eq!(output.feed(b"one\ntwo"), b"one\ntwo");
        assert_eq!(output.feed(b" a5"), b" ");
        assert_eq!(output.feed(b"x"), b"a5x");
    }

    #[test]
    fn a_file_is_followed() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut tail = Tail::open(file.path()).unwrap();
        assert_eq!(tail.read().unwrap(), b"");
        file.write_all(b"abc").unwrap();
        assert_eq!(tail.read().unwrap(), b"abc");
        file.write_all(b"d").unwrap();
        assert_eq!(tail.read().unwrap(), b"d");
        assert_eq!(tail.total(), 4);
    }

    #[test]
    fn last_lines_of_a_text() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a", 2), "a");
        assert_eq!(last_lines("", 2), "");
    }
}
