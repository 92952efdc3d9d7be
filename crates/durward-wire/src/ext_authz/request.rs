//! `CheckRequest`: the request that a proxy holds back, and what the proxy knows of it.
//!
//! What can be there once and comes twice is refused: which one counts would depend on who reads. Fields that are not used are passed
//! over, as protocol buffers ask.

use bytes::BytesMut;

use crate::protobuf::{Content, DecodeError, Field, Reader, error, put_bytes, put_nested, put_number};

/// How much a message may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most header fields.
    pub headers_max: usize,
    /// Most context extensions.
    pub extensions_max: usize,
}

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckRequest<'b> {
    /// Who sent the request to the proxy.
    pub source: Peer<'b>,
    /// Where the proxy took it.
    pub destination: Peer<'b>,
    /// The request itself.
    pub http: HttpRequest<'b>,
    /// What the proxy's configuration says of the route (`context_extensions`).
    pub extensions: Vec<(&'b str, &'b str)>,
    /// The name that the client asked for in TLS; empty where the proxy does not say.
    pub sni: &'b str,
}

/// One end of a connection. Texts are empty where the proxy does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peer<'b> {
    /// An IP address, or the path of a socket of Unix.
    pub address: &'b str,
    /// 0 where there is none.
    pub port: u16,
    /// The service that Envoy was started as.
    pub service: &'b str,
    /// Who a certificate is of, as the proxy verified it: a URI, a DNS name or a subject.
    pub principal: &'b str,
    /// The certificate in PEM, escaped as URLs are.
    pub certificate: &'b str,
}

/// A request over HTTP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpRequest<'b> {
    /// The proxy's name for it.
    pub id: &'b str,
    /// As the client wrote it.
    pub method: &'b str,
    /// Fields that came several times may stand here several times, or once and joined by commas. Names are lower-case.
    pub headers: Vec<Header<'b>>,
    /// With the query.
    pub path: &'b str,
    /// With its port, if it was written with one.
    pub host: &'b str,
    /// `http` or `https`.
    pub scheme: &'b str,
    /// -1 where it is not known.
    pub size: i64,
    /// Such as `HTTP/1.1`.
    pub protocol: &'b str,
    /// What the proxy holds of it: perhaps its start only, perhaps nothing.
    pub body: &'b [u8],
}

/// A header field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'b> {
    /// Of HTTP/2's own, with a colon before it.
    pub name: &'b str,
    /// As bytes, since it need not be text.
    pub value: &'b [u8],
}

impl<'b> HttpRequest<'b> {
    /// The values of a field.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &'b [u8]> {
        self.headers
            .iter()
            .filter(move |header| header.name.eq_ignore_ascii_case(name))
            .map(|header| header.value)
    }
}

/// Reads a `CheckRequest`.
///
/// # Errors
/// Bytes that are not one, or beyond the limits.
///
/// ```
/// use bytes::BytesMut;
/// use durward_wire::ext_authz::{CheckRequest, Limits, read_request};
///
/// let mut asked = CheckRequest::default();
/// (asked.http.method, asked.http.path) = ("GET", "/papers/7?full=1");
/// let mut bytes = BytesMut::new();
/// asked.write(&mut bytes);
/// let read = read_request(&bytes, &Limits { headers_max: 100, extensions_max: 10 })?;
/// assert_eq!(read, asked);
/// # Ok::<(), durward_wire::protobuf::DecodeError>(())
/// ```
pub fn read_request<'b>(bytes: &'b [u8], limits: &Limits) -> Result<CheckRequest<'b>, DecodeError> {
    let mut request = CheckRequest::default();
    for attributes in Once::new(bytes) {
        if let (1, content) = attributes? {
            read_attributes(content.bytes()?, limits, &mut request)?;
        }
    }
    Ok(request)
}

/// The fields of a message in which none of the first 63 may come twice; those that may are read with a [`Reader`], or named.
struct Once<'b> {
    reader: Reader<'b>,
    seen: u64,
    /// The fields that may.
    repeated: u64,
}

impl<'b> Once<'b> {
    fn new(bytes: &'b [u8]) -> Once<'b> {
        Once { reader: Reader::new(bytes), seen: 0, repeated: 0 }
    }

    /// With these fields, which may come several times.
    fn with_repeated(bytes: &'b [u8], fields: &[u32]) -> Once<'b> {
        Once { repeated: fields.iter().fold(0, |all, field| all | 1 << field), ..Once::new(bytes) }
    }
}

impl<'b> Iterator for Once<'b> {
    type Item = Result<(u64, Content<'b>), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Field { number, content } = match self.reader.next() {
            Ok(field) => field?,
            Err(wrong) => return Some(Err(wrong)),
        };
        if let Some(bit) = u32::try_from(number).ok().and_then(|number| 1_u64.checked_shl(number)) {
            if self.seen & bit & !self.repeated != 0 {
                return Some(error("a field is there twice"));
            }
            self.seen |= bit;
        }
        Some(Ok((number, content)))
    }
}

fn read_attributes<'b>(
    bytes: &'b [u8],
    limits: &Limits,
    request: &mut CheckRequest<'b>,
) -> Result<(), DecodeError> {
    for field in Once::with_repeated(bytes, &[10]) {
        match field? {
            (1, content) => request.source = read_peer(content.bytes()?)?,
            (2, content) => request.destination = read_peer(content.bytes()?)?,
            (4, content) => {
                for field in Once::new(content.bytes()?) {
                    if let (2, content) = field? {
                        request.http = read_http(content.bytes()?, limits)?;
                    }
                }
            }
            (10, content) => {
                let (name, value) = read_entry(content.bytes()?)?;
                if request.extensions.iter().any(|(known, _)| *known == name) {
                    return error("a context extension is there twice");
                }
                if request.extensions.len() >= limits.extensions_max {
                    return error("there are too many context extensions");
                }
                request.extensions.push((name, text(value)?));
            }
            (12, content) => request.sni = read_only(content.bytes()?)?,
            _ => {}
        }
    }
    Ok(())
}

fn read_peer(bytes: &[u8]) -> Result<Peer<'_>, DecodeError> {
    let mut peer = Peer::default();
    for field in Once::new(bytes) {
        match field? {
            (1, content) => read_address(content.bytes()?, &mut peer)?,
            (2, content) => peer.service = content.text()?,
            (4, content) => peer.principal = content.text()?,
            (5, content) => peer.certificate = content.text()?,
            _ => {}
        }
    }
    Ok(peer)
}

fn read_address<'b>(bytes: &'b [u8], peer: &mut Peer<'b>) -> Result<(), DecodeError> {
    let mut is_there = false;
    for field in Once::new(bytes) {
        let (number, content) = field?;
        if !matches!(number, 1 | 2) {
            continue;
        }
        // One of them (`oneof`).
        if std::mem::replace(&mut is_there, true) {
            return error("an address is there twice");
        }
        if number == 2 {
            peer.address = read_only(content.bytes()?)?;
            continue;
        }
        for field in Once::new(content.bytes()?) {
            match field? {
                (2, content) => peer.address = content.text()?,
                (3, content) => {
                    peer.port = u16::try_from(content.varint()?).or(error("a port is above 65535"))?;
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn read_http<'b>(bytes: &'b [u8], limits: &Limits) -> Result<HttpRequest<'b>, DecodeError> {
    let mut http = HttpRequest::default();
    let (mut in_map, mut in_list, mut bodies) = (false, false, 0);
    for field in Once::with_repeated(bytes, &[3]) {
        match field? {
            (1, content) => http.id = content.text()?,
            (2, content) => http.method = content.text()?,
            (3, content) => {
                in_map = true;
                let (name, value) = read_entry(content.bytes()?)?;
                put_header(&mut http, name, value, limits)?;
            }
            (4, content) => http.path = content.text()?,
            (5, content) => http.host = content.text()?,
            (6, content) => http.scheme = content.text()?,
            (9, content) => http.size = content.varint()?.cast_signed(),
            (10, content) => http.protocol = content.text()?,
            // What is not UTF-8 comes as bytes; nothing here depends on it.
            (11 | 12, content) => {
                http.body = content.bytes()?;
                bodies += u8::from(!http.body.is_empty());
            }
            (13, content) => {
                in_list = true;
                read_list(content.bytes()?, limits, &mut http)?;
            }
            _ => {}
        }
    }
    if (in_map && in_list) || bodies > 1 {
        return error("a request has its headers or its body twice");
    }
    Ok(http)
}

fn read_list<'b>(bytes: &'b [u8], limits: &Limits, http: &mut HttpRequest<'b>) -> Result<(), DecodeError> {
    for field in Once::with_repeated(bytes, &[1]) {
        let (1, content) = field? else { continue };
        let (mut name, mut value) = ("", None);
        for field in Once::new(content.bytes()?) {
            match field? {
                (1, content) => name = content.text()?,
                (2 | 3, content) if value.replace(content.bytes()?).is_some() => {
                    return error("a header has two values");
                }
                _ => {}
            }
        }
        put_header(http, name, value.unwrap_or_default(), limits)?;
    }
    Ok(())
}

fn put_header<'b>(
    http: &mut HttpRequest<'b>,
    name: &'b str,
    value: &'b [u8],
    limits: &Limits,
) -> Result<(), DecodeError> {
    if http.headers.len() >= limits.headers_max {
        return error("there are too many headers");
    }
    if http.headers.is_empty() {
        http.headers.reserve(limits.headers_max.min(16));
    }
    http.headers.push(Header { name, value });
    Ok(())
}

/// An entry of a map from text to text.
fn read_entry(bytes: &[u8]) -> Result<(&str, &[u8]), DecodeError> {
    if let Some((name, value)) = short_entry(bytes) {
        return Ok((text(name)?, value));
    }
    let (mut name, mut value) = ("", &[][..]);
    for field in Once::new(bytes) {
        match field? {
            (1, content) => name = content.text()?,
            (2, content) => value = content.bytes()?,
            _ => {}
        }
    }
    Ok((name, value))
}

/// An entry as libraries write it, the name before the value, if both are shorter than 128 bytes: most are, and a check has a dozen.
fn short_entry(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (name, rest) = short_field(bytes, 1)?;
    let (value, rest) = short_field(rest, 2)?;
    rest.is_empty().then_some((name, value))
}

/// A field of bytes with this number, if its length is one byte, and what stands behind it.
fn short_field(bytes: &[u8], number: u8) -> Option<(&[u8], &[u8])> {
    match bytes {
        [tag, length, rest @ ..] if *tag == number << 3 | 2 && *length < 0x80 => {
            rest.split_at_checked(usize::from(*length))
        }
        _ => None,
    }
}

/// A message in which only the first field is of interest, a text.
fn read_only(bytes: &[u8]) -> Result<&str, DecodeError> {
    let mut only = "";
    for field in Once::new(bytes) {
        if let (1, content) = field? {
            only = content.text()?;
        }
    }
    Ok(only)
}

fn text(bytes: &[u8]) -> Result<&str, DecodeError> {
    str::from_utf8(bytes).or(error("a text is not UTF-8"))
}

impl CheckRequest<'_> {
    /// Appends it as Envoy writes it: headers as a map where all of their values are text.
    pub fn write(&self, out: &mut BytesMut) {
        put_nested(out, 1, |out| {
            for (field, peer) in [(1, &self.source), (2, &self.destination)] {
                if *peer != Peer::default() {
                    put_nested(out, field, |out| peer.write(out));
                }
            }
            put_nested(out, 4, |out| put_nested(out, 2, |out| self.http.write(out)));
            for (name, value) in &self.extensions {
                put_entry(out, 10, name, value.as_bytes());
            }
            if !self.sni.is_empty() {
                put_nested(out, 12, |out| put_text(out, 1, self.sni));
            }
        });
    }
}

impl Peer<'_> {
    fn write(&self, out: &mut BytesMut) {
        let is_path = self.port == 0 && self.address.starts_with(['/', '@']);
        match (self.address, is_path) {
            ("", _) if self.port == 0 => {}
            (path, true) => put_nested(out, 1, |out| put_nested(out, 2, |out| put_text(out, 1, path))),
            (address, false) => put_nested(out, 1, |out| {
                put_nested(out, 1, |out| {
                    put_text(out, 2, address);
                    put_number(out, 3, self.port.into());
                });
            }),
        }
        for (field, text) in [(2, self.service), (4, self.principal), (5, self.certificate)] {
            put_text(out, field, text);
        }
    }
}

impl HttpRequest<'_> {
    fn write(&self, out: &mut BytesMut) {
        put_text(out, 1, self.id);
        put_text(out, 2, self.method);
        if self.headers.iter().all(|header| str::from_utf8(header.value).is_ok()) {
            for header in &self.headers {
                put_entry(out, 3, header.name, header.value);
            }
        } else {
            put_nested(out, 13, |out| {
                for header in &self.headers {
                    put_nested(out, 1, |out| {
                        put_text(out, 1, header.name);
                        put_bytes(out, 3, header.value);
                    });
                }
            });
        }
        put_text(out, 4, self.path);
        put_text(out, 5, self.host);
        put_text(out, 6, self.scheme);
        if self.size != 0 {
            put_number(out, 9, self.size.cast_unsigned());
        }
        put_text(out, 10, self.protocol);
        if !self.body.is_empty() {
            put_bytes(out, if str::from_utf8(self.body).is_ok() { 11 } else { 12 }, self.body);
        }
    }
}

fn put_text(out: &mut BytesMut, field: u64, text: &str) {
    if !text.is_empty() {
        put_bytes(out, field, text.as_bytes());
    }
}

fn put_entry(out: &mut BytesMut, field: u64, name: &str, value: &[u8]) {
    put_nested(out, field, |out| {
        put_bytes(out, 1, name.as_bytes());
        put_bytes(out, 2, value);
    });
}
