//! Options of pcapng's blocks: code, length, value, padded to 4 bytes.

use super::half;

/// Most bytes of a block's options that are looked at.
pub const MOST_OPTIONS: usize = 65_536;
/// The code of a comment, in any block.
pub const COMMENT: u16 = 1;

/// The options that bytes begin with, in order; the list ends where it says so, and where an option goes past the end.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    rest: &'a [u8],
    big: bool,
}

impl<'a> Options<'a> {
    /// Those of `bytes`, in the byte order of their section.
    pub fn new(bytes: &'a [u8], big: bool) -> Options<'a> {
        Options { rest: bytes.get(..MOST_OPTIONS).unwrap_or(bytes), big }
    }

    /// The values of comments.
    pub fn comments(self) -> impl Iterator<Item = &'a [u8]> {
        self.filter(|(code, _)| *code == COMMENT).map(|(_, value)| value)
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<(u16, &'a [u8])> {
        let (head, behind) = self.rest.split_at_checked(4)?;
        let (code, length) = (half(head, 0, self.big), usize::from(half(head, 2, self.big)));
        let value = behind.get(..length)?;
        if code == 0 {
            self.rest = &[];
            return None;
        }
        self.rest = behind.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    }
}
