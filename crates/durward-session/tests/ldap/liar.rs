//! A server that speaks LDAP as far as it must to be asked, and then says what it likes.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What it says when it is asked for an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Liar {
    /// This one, and any password is right.
    Entry { dn: &'static str, uid: &'static str },
    /// The first values of an attribute, as Active Directory gives what has many.
    Range,
    /// A message that says it has two GiB, and begins.
    EndlessMessage,
    /// Small entries for ever.
    EndlessEntries,
    /// No LDAP at all.
    Garbage,
    /// Well-formed messages that are none of LDAP.
    Nonsense,
}

/// A tag, the length and what it has.
fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&[tag, 0x82], &length[..], content].concat()
}

fn message(id: u8, operation: &[u8]) -> Vec<u8> {
    tlv(0x30, &[&tlv(0x02, &[id])[..], operation].concat())
}

fn entry(id: u8, dn: &str, uid: &str) -> Vec<u8> {
    entry_with(id, dn, b"uid", uid)
}

fn entry_with(id: u8, dn: &str, name: &[u8], value: &str) -> Vec<u8> {
    let values = tlv(0x31, &tlv(0x04, value.as_bytes()));
    let attribute = tlv(0x30, &[tlv(0x04, name), values].concat());
    let content = [tlv(0x04, dn.as_bytes()), tlv(0x30, &attribute)].concat();
    message(id, &tlv(0x64, &content))
}

/// A search's or a bind's end: success.
fn done(id: u8, tag: u8) -> Vec<u8> {
    message(id, &tlv(tag, b"\x0a\x01\x00\x04\x00\x04\x00"))
}

impl Liar {
    /// Its address.
    pub(crate) async fn start(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(self.lie(stream));
            }
        });
        format!("ldap://{address}")
    }

    async fn lie(self, mut stream: TcpStream) {
        let mut question = [0; 4096];
        // Questions here are short, and come one at a time.
        let Ok(1..) = stream.read(&mut question).await else { return };
        // Behind the message's tag and length, which is longer than a byte where the question is.
        let at = 2 + usize::from(question[1].saturating_sub(0x80));
        let Some(&[id, operation]) = question.get(at + 2..at + 4).and_then(|bytes| bytes.first_chunk::<2>())
        else {
            return;
        };
        let _ = match self {
            Liar::Entry { .. } | Liar::Range if operation == 0x60 => stream.write_all(&done(id, 0x61)).await,
            Liar::Range => {
                let dn = "uid=anna,ou=people,dc=example,dc=org";
                let _ = stream.write_all(&entry_with(id, dn, b"uid;range=0-1499", "anna")).await;
                stream.write_all(&done(id, 0x65)).await
            }
            Liar::Entry { dn, uid } => {
                let _ = stream.write_all(&entry(id, dn, uid)).await;
                stream.write_all(&done(id, 0x65)).await
            }
            Liar::EndlessMessage => {
                let _ = stream.write_all(b"\x30\x84\x7f\xff\xff\xff").await;
                while stream.write_all(&[0x04; 4096]).await.is_ok() {}
                Ok(())
            }
            Liar::EndlessEntries => {
                let entry = entry(id, "uid=anna,ou=people,dc=example,dc=org", "anna");
                while stream.write_all(&entry).await.is_ok() {}
                Ok(())
            }
            Liar::Garbage => stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await,
            Liar::Nonsense => stream.write_all(&message(id, &tlv(0x64, &tlv(0x02, b"\x01")))).await,
        };
        // Whoever is still there hears nothing more.
        let _ = stream.read(&mut question).await;
    }
}
