//! Sequence numbers: one more with each chunk, wrapping early (Part 6, 6.7.2.4).

use opcua_types::StatusCode;

use crate::error::Error;

/// The highest number after which a sender may begin again.
const WRAP_FROM: u32 = u32::MAX - 1_024;

/// What a number after wrapping, and the first number of all, must be smaller than.
const FIRST_BELOW: u32 = 1_024;

/// The numbers that this side sends.
#[derive(Debug, Default)]
pub struct OutgoingSequence {
    last: u32,
}

impl OutgoingSequence {
    /// The next number.
    pub fn take(&mut self) -> u32 {
        self.last = if self.last >= WRAP_FROM { 1 } else { self.last + 1 };
        self.last
    }

    /// Numbers that follow this one.
    pub fn after(last: u32) -> OutgoingSequence {
        OutgoingSequence { last }
    }
}

/// The numbers that the other side sends.
#[derive(Debug, Default)]
pub struct IncomingSequence {
    last: Option<u32>,
}

impl IncomingSequence {
    /// Takes the number of the next chunk.
    ///
    /// # Errors
    /// `BadSequenceNumberInvalid`: not the one that follows. The connection must be closed.
    pub fn check(&mut self, number: u32) -> Result<(), Error> {
        let follows = match self.last {
            None => true,
            Some(last) => last.checked_add(1) == Some(number) || (last >= WRAP_FROM && number < FIRST_BELOW),
        };
        if !follows {
            return Err(Error::new(
                StatusCode::BadSequenceNumberInvalid,
                format!("the sequence number {number} does not follow {:?}", self.last),
            ));
        }
        self.last = Some(number);
        Ok(())
    }
}
