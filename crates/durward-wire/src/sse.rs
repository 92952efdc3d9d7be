//! Events out of an event stream (the HTML standard, "Server-sent events"): their data, and their names for those who ask.
//!
//! SAPL's engine also takes an event that the stream breaks off in the middle of; here it is not one, as the standard
//! says: half of a number is a number.

/// A reader of one stream.
#[derive(Debug)]
pub struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    name: Vec<u8>,
    /// Whether the event has a line of data: one may be empty.
    has_data: bool,
    /// The last byte ended a line, as the first half of an end may.
    after_return: bool,
    is_first_line: bool,
    bytes_max: usize,
}

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub struct Event {
    /// Empty where it has none.
    pub name: Vec<u8>,
    /// Its lines of data.
    pub data: Vec<u8>,
}

/// An event or line with more bytes than allowed.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge;

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an event is too large")
    }
}

impl std::error::Error for TooLarge {}

impl Events {
    /// At the beginning of a stream whose lines and events have at most so many bytes.
    pub fn new(bytes_max: usize) -> Events {
        Events {
            line: Vec::new(),
            data: Vec::new(),
            name: Vec::new(),
            has_data: false,
            after_return: false,
            is_first_line: true,
            bytes_max,
        }
    }

    /// Reads on. Gives the data of the last of the events that end here: what is older is no longer true.
    ///
    /// # Errors
    /// An event that is too large.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, TooLarge> {
        let mut last = None;
        self.read_each(bytes, |event| last = Some(event.data))?;
        Ok(last)
    }

    /// Reads on, and gives each event that ends here.
    ///
    /// # Errors
    /// An event that is too large.
    pub fn read_each(&mut self, bytes: &[u8], mut each: impl FnMut(Event)) -> Result<(), TooLarge> {
        for &byte in bytes {
            let follows_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if follows_return => {}
                b'\r' | b'\n' => self.end_line().into_iter().for_each(&mut each),
                _ => self.line.push(byte),
            }
            let bytes = self.line.len() + self.data.len() + self.name.len();
            if bytes > self.bytes_max.saturating_add("data: ".len()) {
                return Err(TooLarge);
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let mark: &[u8] = if std::mem::take(&mut self.is_first_line) { "\u{feff}".as_bytes() } else { &[] };
        let line = line.strip_prefix(mark).unwrap_or(&line);
        if line.is_empty() {
            let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
            return std::mem::take(&mut self.has_data).then_some(Event { name, data });
        }
        if let Some(name) = line.strip_prefix(b"event:") {
            self.name = name.strip_prefix(b" ").unwrap_or(name).to_vec();
        }
        let data = if line == b"data" { Some(&[][..]) } else { line.strip_prefix(b"data:") };
        if let Some(data) = data {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.has_data = true;
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last event of a stream that comes in pieces of every size.
    fn check(stream: &str, expected: Option<&str>) {
        for size in 1..=stream.len() {
            let mut events = Events::new(100);
            let mut last = None;
            for piece in stream.as_bytes().chunks(size) {
                last = events.read(piece).unwrap().or(last);
            }
            assert_eq!(last.as_deref(), expected.map(str::as_bytes), "{stream:?} by {size}");
        }
    }

    #[test]
    fn events_end_with_an_empty_line_however_lines_end() {
        for end in ["\n", "\r", "\r\n"] {
            check(&format!("data: 1{end}{end}"), Some("1"));
            check(&format!("data:1{end}data:2{end}{end}"), Some("1\n2"));
            check(&format!("data:1{end}{end}data:2{end}{end}"), Some("2"));
            check(&format!("\u{feff}data:1{end}{end}"), Some("1"));
            check(&format!(": alive{end}{end}event: x{end}id: 1{end}retry: 5{end}{end}"), None);
            check(&format!("data{end}{end}"), Some(""));
            check(&format!("data:1{end}{end}data:2{end}"), Some("1"));
        }
    }

    #[test]
    fn names_are_those_of_their_own_event() {
        let mut seen = Vec::new();
        let stream = b"event: a\ndata:1\n\ndata:2\n\nevent:b\n\ndata:3\n\n";
        Events::new(100).read_each(stream, |event| seen.push((event.name, event.data))).unwrap();
        let event = |name: &[u8], data: &[u8]| (name.to_vec(), data.to_vec());
        assert_eq!(seen, [event(b"a", b"1"), event(b"", b"2"), event(b"", b"3")]);
    }

    #[test]
    fn what_is_too_large_is_refused_before_it_is_held() {
        let mut events = Events::new(8);
        assert_eq!(events.read(b"data: 12345678\n\n"), Ok(Some(b"12345678".to_vec())));
        assert_eq!(events.read(b"data:123456789\n").and(events.read(b"data:123456789")), Err(TooLarge));
        assert_eq!(Events::new(8).read(b": a comment without end"), Err(TooLarge));
    }
}
