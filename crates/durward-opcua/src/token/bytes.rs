//! Numbers and runs of bytes as tables and grants are written with.

/// Writes a number in as few bytes as it needs, seven bits in each, the low ones first (LEB128).
pub(super) fn put_number(bytes: &mut Vec<u8>, number: u64) {
    let mut rest = number;
    while let low @ 0x80.. = rest {
        bytes.push((low & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// Reads what was written. Every reading fails where the bytes end.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenReader<'b> {
    bytes: &'b [u8],
}

impl<'b> TokenReader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> TokenReader<'b> {
        TokenReader { bytes }
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    pub(super) fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    /// A number, written as shortly as it can be: any other way to write it is refused, so that a text has one form.
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let low = u64::from(byte & 0x7f);
            if shift == 63 && low > 1 {
                return None;
            }
            number |= low << shift;
            if byte & 0x80 == 0 {
                return (byte != 0 || shift == 0).then_some(number);
            }
        }
        None
    }

    pub(super) fn size(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    pub(super) fn rest(&mut self) -> &'b [u8] {
        std::mem::take(&mut self.bytes)
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_have_one_form() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            let mut reader = TokenReader::new(&bytes);
            assert_eq!((reader.number(), reader.is_at_end()), (Some(number), true));
            assert_eq!(TokenReader::new(&bytes[..bytes.len() - 1]).number(), None, "{number} cut short");
        }
        assert_eq!(TokenReader::new(&[0x80, 0x00]).number(), None, "zero in two bytes");
        assert_eq!(TokenReader::new(&[0xff; 10]).number(), None, "more than 64 bits");
        assert_eq!(TokenReader::new(&[0xff; 11]).number(), None);
    }
}
