//! `CheckResponse`: what becomes of a request.

use bytes::BytesMut;

use crate::protobuf::{DecodeError, Field, Reader, error, put_bytes, put_nested, put_number};

/// What is answered. There is none without a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckResponse<'r> {
    /// The request goes on.
    Allowed(Allowed<'r>),
    /// The client gets this.
    Denied(Denied<'r>),
}

/// What is changed before a request goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed<'r> {
    /// Fields of the request.
    pub headers: &'r [HeaderChange<'r>],
    /// Fields that are taken out of the request. Envoy refuses to take out `Host` and what begins with a colon.
    pub removed: &'r [&'r str],
    /// Fields of the response, later.
    pub response_headers: &'r [HeaderChange<'r>],
    /// What the proxy's log may say (`dynamic_metadata`).
    pub metadata: &'r [(&'r str, &'r str)],
}

/// The response that a client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denied<'r> {
    /// As [`sendable_status`] has it, whatever is said here.
    pub status: u16,
    /// Fields of the response.
    pub headers: &'r [HeaderChange<'r>],
    /// `text/plain` unless a header says otherwise.
    pub body: &'r str,
    /// What the proxy's log may say (`dynamic_metadata`).
    pub metadata: &'r [(&'r str, &'r str)],
}

/// A header field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderChange<'r> {
    /// Its name, in small letters.
    pub name: &'r str,
    /// Its value, which may be empty.
    pub value: &'r str,
    /// What becomes of others of its name.
    pub how: How,
}

/// What becomes of fields of the same name that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// They are gone.
    Overwrite,
    /// Both are there. Of requests Envoy does so only for the deprecated `append`, whatever `append_action` says.
    Append,
}

/// The codes of `google.rpc.Code` that are said.
const OK: u64 = 0;
const PERMISSION_DENIED: u64 = 7;
const UNAUTHENTICATED: u64 = 16;

/// `APPEND_IF_EXISTS_OR_ADD` is 0.
const OVERWRITE_IF_EXISTS_OR_ADD: u64 = 2;

impl CheckResponse<'_> {
    /// The code in its status.
    fn code(&self) -> u64 {
        match self {
            CheckResponse::Allowed(_) => OK,
            CheckResponse::Denied(Denied { status: 401, .. }) => UNAUTHENTICATED,
            CheckResponse::Denied(_) => PERMISSION_DENIED,
        }
    }
}

/// The status that a denial is sent with: one that Envoy knows, and none that a client takes for success.
///
/// ```
/// use durward_wire::ext_authz::sendable_status;
///
/// assert_eq!((sendable_status(401), sendable_status(200), sendable_status(418)), (401, 403, 403));
/// ```
pub const fn sendable_status(status: u16) -> u16 {
    match status {
        300..=305 | 307 | 308 | 400..=417 | 421..=424 | 426 | 428 | 429 | 431 | 500..=508 | 510 | 511 => {
            status
        }
        _ => 403,
    }
}

/// Appends it. The status is written last, when everything else is known to be there.
pub fn write_response(out: &mut BytesMut, response: &CheckResponse<'_>) {
    let metadata = match response {
        CheckResponse::Allowed(allowed) => {
            put_nested(out, 3, |out| allowed.write(out));
            allowed.metadata
        }
        CheckResponse::Denied(denied) => {
            put_nested(out, 2, |out| denied.write(out));
            denied.metadata
        }
    };
    if !metadata.is_empty() {
        put_nested(out, 4, |out| put_struct(out, metadata));
    }
    put_nested(out, 1, |out| put_number(out, 1, response.code()));
}

impl Allowed<'_> {
    fn write(&self, out: &mut BytesMut) {
        for change in self.headers {
            put_nested(out, 2, |out| change.write(out));
        }
        for name in self.removed {
            put_bytes(out, 5, name.as_bytes());
        }
        for change in self.response_headers {
            put_nested(out, 6, |out| change.write(out));
        }
    }
}

impl Denied<'_> {
    fn write(&self, out: &mut BytesMut) {
        put_nested(out, 1, |out| put_number(out, 1, sendable_status(self.status).into()));
        for change in self.headers {
            put_nested(out, 2, |out| change.write(out));
        }
        if !self.body.is_empty() {
            put_bytes(out, 3, self.body.as_bytes());
        }
    }
}

impl HeaderChange<'_> {
    fn write(&self, out: &mut BytesMut) {
        put_nested(out, 1, |out| {
            put_bytes(out, 1, self.name.as_bytes());
            put_bytes(out, 2, self.value.as_bytes());
        });
        match self.how {
            How::Overwrite => put_number(out, 3, OVERWRITE_IF_EXISTS_OR_ADD),
            How::Append => put_nested(out, 2, |out| put_number(out, 1, 1)),
        }
        put_number(out, 4, 1);
    }
}

/// A `google.protobuf.Struct` of texts.
fn put_struct(out: &mut BytesMut, fields: &[(&str, &str)]) {
    for (name, value) in fields {
        put_nested(out, 1, |out| {
            put_bytes(out, 1, name.as_bytes());
            put_nested(out, 2, |out| put_bytes(out, 3, value.as_bytes()));
        });
    }
}

/// A response as Envoy reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadResponse<'b> {
    /// 0, which lets a request through, also where it is not said.
    pub code: u64,
    /// What goes with the code.
    pub http: ReadHttp<'b>,
    /// Members of `dynamic_metadata` that are texts.
    pub metadata: Vec<(&'b str, &'b str)>,
}

/// What goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadHttp<'b> {
    /// Nothing.
    None,
    /// An `ok_response`.
    Allowed {
        /// Fields of the request.
        headers: Vec<HeaderChange<'b>>,
        /// Fields that are taken out of the request.
        removed: Vec<&'b str>,
        /// Fields of the response, later.
        response_headers: Vec<HeaderChange<'b>>,
    },
    /// A `denied_response`.
    Denied {
        /// 0 where it is not said.
        status: u64,
        /// Fields of the response.
        headers: Vec<HeaderChange<'b>>,
        /// Its body.
        body: &'b str,
    },
}

/// Reads what [`write_response`] writes: for whoever asks.
///
/// # Errors
/// Bytes that are no `CheckResponse`.
pub fn read_response(bytes: &[u8]) -> Result<ReadResponse<'_>, DecodeError> {
    let mut response = ReadResponse { code: OK, http: ReadHttp::None, metadata: Vec::new() };
    let mut reader = Reader::new(bytes);
    while let Some(Field { number, content }) = reader.next()? {
        match number {
            1 => response.code = number_in(content.bytes()?)?,
            2 => response.http = read_denied(content.bytes()?)?,
            3 => response.http = read_allowed(content.bytes()?)?,
            4 => read_struct(content.bytes()?, &mut response.metadata)?,
            // Nothing of durward's: with it, a proxy that lets through where nobody answers would.
            5 => return error("an error response"),
            _ => {}
        }
    }
    Ok(response)
}

fn read_denied(bytes: &[u8]) -> Result<ReadHttp<'_>, DecodeError> {
    let (mut status, mut headers, mut body) = (0, Vec::new(), "");
    let mut reader = Reader::new(bytes);
    while let Some(Field { number, content }) = reader.next()? {
        match number {
            1 => status = number_in(content.bytes()?)?,
            2 => headers.push(read_change(content.bytes()?)?),
            3 => body = content.text()?,
            _ => {}
        }
    }
    Ok(ReadHttp::Denied { status, headers, body })
}

fn read_allowed(bytes: &[u8]) -> Result<ReadHttp<'_>, DecodeError> {
    let (mut headers, mut removed, mut response_headers) = (Vec::new(), Vec::new(), Vec::new());
    let mut reader = Reader::new(bytes);
    while let Some(Field { number, content }) = reader.next()? {
        match number {
            2 => headers.push(read_change(content.bytes()?)?),
            5 => removed.push(content.text()?),
            6 => response_headers.push(read_change(content.bytes()?)?),
            _ => {}
        }
    }
    Ok(ReadHttp::Allowed { headers, removed, response_headers })
}

fn read_change(bytes: &[u8]) -> Result<HeaderChange<'_>, DecodeError> {
    let mut change = HeaderChange { name: "", value: "", how: How::Overwrite };
    let mut reader = Reader::new(bytes);
    while let Some(Field { number, content }) = reader.next()? {
        match number {
            1 => {
                let mut reader = Reader::new(content.bytes()?);
                while let Some(Field { number, content }) = reader.next()? {
                    match number {
                        1 => change.name = content.text()?,
                        2 => change.value = content.text()?,
                        _ => {}
                    }
                }
            }
            2 if number_in(content.bytes()?)? != 0 => change.how = How::Append,
            _ => {}
        }
    }
    Ok(change)
}

fn read_struct<'b>(bytes: &'b [u8], fields: &mut Vec<(&'b str, &'b str)>) -> Result<(), DecodeError> {
    let mut reader = Reader::new(bytes);
    while let Some(entry) = reader.next()? {
        let (mut name, mut value) = ("", None);
        let mut entry = Reader::new(entry.content.bytes()?);
        while let Some(Field { number, content }) = entry.next()? {
            match number {
                1 => name = content.text()?,
                2 => {
                    let mut only = Reader::new(content.bytes()?);
                    while let Some(Field { number, content }) = only.next()? {
                        if number == 3 {
                            value = Some(content.text()?);
                        }
                    }
                }
                _ => {}
            }
        }
        fields.extend(value.map(|value| (name, value)));
    }
    Ok(())
}

/// A message in which only the first field is of interest, a number.
fn number_in(bytes: &[u8]) -> Result<u64, DecodeError> {
    let mut only = 0;
    let mut reader = Reader::new(bytes);
    while let Some(Field { number, content }) = reader.next()? {
        if number == 1 {
            only = content.varint()?;
        }
    }
    Ok(only)
}
