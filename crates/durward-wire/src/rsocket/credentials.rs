//! Who a client says it is: the metadata of its setup, which is authentication metadata and nothing around it.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Marks a well-known type of authentication; the other bits say which.
const WELL_KNOWN: u8 = 0x80;
const SIMPLE: u8 = WELL_KNOWN;
const BEARER: u8 = WELL_KNOWN | 1;

/// What came with the setup, not verified.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// No metadata.
    None,
    /// A name and a password.
    Simple {
        /// The name.
        user: Bytes,
        /// The password.
        password: Bytes,
    },
    /// A token: of OAuth 2.0, or an API key.
    Bearer(Bytes),
    /// Metadata of another type, or broken off.
    Unknown,
}

impl Credentials {
    /// Reads the metadata of a setup: `0x80`, two bytes of length, name, password; or `0x81`, token.
    pub fn read(metadata: Option<Bytes>) -> Credentials {
        let Some(mut rest) = metadata.filter(|metadata| !metadata.is_empty()) else {
            return Credentials::None;
        };
        match rest.get_u8() {
            SIMPLE => match rest.try_get_u16() {
                Ok(length) if usize::from(length) <= rest.len() => {
                    let user = rest.split_to(length.into());
                    Credentials::Simple { user, password: rest }
                }
                Ok(_) | Err(_) => Credentials::Unknown,
            },
            BEARER => Credentials::Bearer(rest),
            _ => Credentials::Unknown,
        }
    }

    /// The metadata of a setup with these credentials; `None` where there is to be none. A name is cut after 65,535
    /// bytes.
    pub fn write(&self) -> Option<Bytes> {
        let mut metadata = BytesMut::new();
        match self {
            Credentials::None | Credentials::Unknown => return None,
            Credentials::Simple { user, password } => {
                let user = user.get(..usize::from(u16::MAX)).unwrap_or(user);
                metadata.put_u8(SIMPLE);
                // It was cut.
                metadata.put_u16(user.len() as u16);
                metadata.put_slice(user);
                metadata.put_slice(password);
            }
            Credentials::Bearer(token) => {
                metadata.put_u8(BEARER);
                metadata.put_slice(token);
            }
        }
        Some(metadata.freeze())
    }
}

impl std::fmt::Debug for Credentials {
    /// Secrets are not for logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Credentials::None => "None",
            Credentials::Simple { .. } => "Simple(..)",
            Credentials::Bearer(_) => "Bearer(..)",
            Credentials::Unknown => "Unknown",
        })
    }
}
