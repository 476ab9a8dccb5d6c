//! A reader of CSV files that runs when the crate is compiled: numbers with at most four decimals, and fields to skip. A file that is
//! not as expected does not compile.

/// A place in a file.
pub(super) struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// At the begin of `text`.
    pub const fn new(text: &'a [u8]) -> Reader<'a> {
        Reader { text, at: 0 }
    }

    /// Skips the rest of the line.
    pub const fn line(&mut self) {
        while self.text[self.at] != b'\n' {
            self.at += 1;
        }
        self.at += 1;
    }

    /// Skips `fields` fields.
    pub const fn skip(&mut self, fields: usize) {
        let mut left = fields;
        while left > 0 {
            while self.text[self.at] != b',' && self.text[self.at] != b'\n' {
                self.at += 1;
            }
            self.at += 1;
            left -= 1;
        }
    }

    /// A whole number and what ends its field.
    pub const fn whole(&mut self) -> u32 {
        let (negative, tenthousandths) = self.fixed();
        assert!(!negative && tenthousandths % 10_000 == 0, "a whole number was expected");
        tenthousandths / 10_000
    }

    /// A number and what ends its field.
    pub const fn number(&mut self) -> f64 {
        let (negative, tenthousandths) = self.fixed();
        let size = tenthousandths as f64 / 10_000.0;
        if negative { -size } else { size }
    }

    const fn fixed(&mut self) -> (bool, u32) {
        let negative = self.text[self.at] == b'-';
        if negative {
            self.at += 1;
        }
        let (mut n, mut decimals, mut point) = (0u32, 0, false);
        loop {
            let c = if self.at < self.text.len() { self.text[self.at] } else { b'\n' };
            self.at += 1;
            match c {
                b'0'..=b'9' => {
                    n = n * 10 + (c - b'0') as u32;
                    decimals += point as u32;
                }
                b'.' => point = true,
                b',' | b'\n' => break,
                b'\r' => {}
                _ => panic!("a number was expected"),
            }
        }
        assert!(decimals <= 4, "more decimals than expected");
        while decimals < 4 {
            n *= 10;
            decimals += 1;
        }
        (negative, n)
    }
}
