//! What a file is called. A server says so, or the URL; neither may name anything but a file in the folder given.

use crate::address::Address;
use percent_encoding::percent_decode_str;

/// Bytes of a name: a file system takes 255, and `.part.journal.new` is added.
const MOST: usize = 200;
/// Where nothing names it.
const NAMELESS: &str = "download";

/// A name that is one: no folder, nothing hidden, nothing that a terminal acts upon.
pub fn safe(text: &str) -> Option<String> {
    let last = text.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = last.chars().map(|c| if c.is_control() || invisible(c) { '_' } else { c }).collect();
    // Points and blanks together: behind a blank a point would hide the file all the same.
    let edge = |c: char| c.is_whitespace() || c == '.';
    let mut name = plain.trim_matches(edge);
    if name.len() > MOST {
        let cut = (0..=MOST).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
        name = name[..cut].trim_end_matches(edge);
    }
    (!name.is_empty()).then(|| name.to_owned())
}

/// Marks that change how text around them is shown: a name could pretend to end in another way.
fn invisible(c: char) -> bool {
    matches!(c, '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The name that a URL has.
pub fn of_url(address: &Address) -> String {
    safe(&percent_decode_str(address.last()).decode_utf8_lossy()).unwrap_or_else(|| NAMELESS.to_owned())
}

/// The name in a header `Content-Disposition` (RFC 6266): `filename*` before `filename`.
pub fn of_disposition(header: &str) -> Option<String> {
    let mut plain = None;
    for part in parameters(header) {
        let (key, value) = part.split_once('=')?;
        match key.trim().to_ascii_lowercase().as_str() {
            "filename*" => {
                // RFC 8187: charset'language'value
                let mut fields = value.trim().splitn(3, '\'');
                let (charset, _, encoded) = (fields.next()?, fields.next()?, fields.next()?);
                if charset.eq_ignore_ascii_case("utf-8") {
                    if let Some(name) = safe(&percent_decode_str(encoded).decode_utf8_lossy()) {
                        return Some(name);
                    }
                }
            }
            "filename" => plain = safe(&unquoted(value.trim())),
            _ => {}
        }
    }
    plain
}

/// What stands between semicolons that are not quoted, without the first.
fn parameters(header: &str) -> Vec<String> {
    let (mut parts, mut quoted, mut escaped) = (vec![String::new()], false, false);
    for c in header.chars() {
        if c == ';' && !quoted {
            parts.push(String::new());
            continue;
        }
        if c == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && c == '\\' && !escaped;
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts.into_iter().skip(1).filter(|part| part.contains('=')).collect()
}

fn unquoted(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return value.to_owned() };
    let (mut text, mut escaped) = (String::new(), false);
    for c in inner.chars() {
        if c == '\\' && !escaped {
            escaped = true;
        } else {
            text.push(c);
            escaped = false;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_leaves_its_folder() {
        for (given, name) in [
            ("../../etc/passwd", "passwd"),
            ("..\\..\\boot.ini", "boot.ini"),
            (".bashrc", "bashrc"),
            ("a\u{202e}fdp.exe", "a_fdp.exe"),
            ("a\nb\0c", "a_b_c"),
            ("  x.iso ", "x.iso"),
            (". .bash_profile", "bash_profile"),
            (" . .\u{a0}. .x. .", "x"),
            ("a\u{61c}b", "a_b"),
        ] {
            assert_eq!(safe(given).as_deref(), Some(name), "{given:?}");
        }
        for nothing in ["", "/", "..", ".", "...", "a/", " . "] {
            assert_eq!(safe(nothing), None, "{nothing:?}");
        }
        assert!(safe(&"é".repeat(300)).unwrap().len() <= MOST);
    }

    #[test]
    fn a_name_is_never_hidden_and_stays_what_it_is() {
        let parts = [
            ".",
            " ",
            "a",
            "/",
            "\\",
            "\u{a0}",
            "\u{3000}",
            "\t",
            "é",
            "\u{202e}",
            "..",
            "b.c",
            "x".repeat(99).as_str(),
        ]
        .map(str::to_owned);
        let mut state = 1u64;
        let (mut found, mut cut) = (0, 0);
        for _ in 0..200_000 {
            let mut text = String::new();
            for _ in 0..state >> 60 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text += &parts[(state >> 33) as usize % parts.len()];
            }
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let Some(name) = safe(&text) else { continue };
            assert!(!name.starts_with('.') && name.len() <= MOST && !name.contains(['/', '\\', '\0']), "{text:?}");
            assert_eq!(safe(&name).as_deref(), Some(name.as_str()), "{text:?}");
            found += 1;
            cut += usize::from(name.len() > MOST - 3);
        }
        assert!(found > 100_000 && cut > 100, "{found} names, {cut} of them cut");
    }

    #[test]
    fn names_of_urls() {
        let of = |text| of_url(&Address::parse(text).unwrap());
        assert_eq!(of("http://a.example/x/file.iso?token=1"), "file.iso");
        assert_eq!(of("http://a.example/x/%2e%2e%2f%2e%2e%2fetc%2fpasswd"), "passwd");
        assert_eq!(of("http://a.example/"), NAMELESS);
        assert_eq!(of("http://a.example/a%20b%C3%A9"), "a bé");
    }

    #[test]
    fn names_of_servers() {
        for (header, name) in [
            ("attachment; filename=plain.txt", Some("plain.txt")),
            ("attachment; filename=\"a; b.txt\"", Some("a; b.txt")),
            ("attachment; filename=\"say \\\"hi\\\".txt\"", Some("say \"hi\".txt")),
            ("attachment; filename=\"x\"; filename*=UTF-8''%e2%82%ac%20rates", Some("€ rates")),
            ("attachment; filename*=UTF-8''..%2f..%2fetc%2fpasswd", Some("passwd")),
            ("attachment; filename=\"../../.ssh/authorized_keys\"", Some("authorized_keys")),
            ("attachment; filename=\"..\"", None),
            ("inline", None),
            ("attachment; filename*=UTF-16''x; filename=y", Some("y")),
        ] {
            assert_eq!(of_disposition(header).as_deref(), name, "{header}");
        }
    }
}
