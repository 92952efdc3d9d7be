//! Writing the few things that the gate itself says, in the binary encoding (Part 6, 5.2).

use opcua_types::{Identifier, NodeId, ObjectId, StatusCode};

/// Bytes to which encoded values are added.
pub(super) trait PutEncoded {
    /// A byte.
    fn put_u8(&mut self, value: u8);
    /// Bytes as they are.
    fn put_bytes(&mut self, bytes: &[u8]);

    /// A `UInt32`.
    fn put_u32(&mut self, value: u32) {
        self.put_bytes(&value.to_le_bytes());
    }
    /// An `Int32`.
    fn put_i32(&mut self, value: i32) {
        self.put_bytes(&value.to_le_bytes());
    }
    /// A status code.
    fn put_status(&mut self, status: StatusCode) {
        self.put_u32(status.bits());
    }
    /// The number of elements of an array. All are bounded by the length of a message, far below the limit of the type.
    fn put_count(&mut self, count: usize) {
        self.put_i32(i32::try_from(count).unwrap_or(i32::MAX));
    }
    /// A null array, string or byte string.
    fn put_null(&mut self) {
        self.put_i32(-1);
    }
    /// A string or byte string.
    fn put_text(&mut self, text: Option<&[u8]>) {
        match text {
            Some(bytes) => {
                self.put_count(bytes.len());
                self.put_bytes(bytes);
            }
            None => self.put_null(),
        }
    }
    /// An extension object in binary encoding.
    fn put_extension(&mut self, encoding: ObjectId, body: &[u8]) {
        self.put_node_id(&NodeId::new(0, encoding as u32));
        self.put_u8(1);
        self.put_text(Some(body));
    }
    /// An extension object that holds nothing.
    fn put_no_extension(&mut self) {
        self.put_bytes(&[0, 0, 0]);
    }
    /// A node id; local expanded node ids are written alike.
    fn put_node_id(&mut self, node: &NodeId) {
        match &node.identifier {
            Identifier::Numeric(number) => {
                self.put_u8(2);
                self.put_bytes(&node.namespace.to_le_bytes());
                self.put_u32(*number);
            }
            Identifier::String(text) => {
                self.put_u8(3);
                self.put_bytes(&node.namespace.to_le_bytes());
                self.put_text(text.value().as_ref().map(String::as_bytes));
            }
            Identifier::Guid(guid) => {
                self.put_u8(4);
                self.put_bytes(&node.namespace.to_le_bytes());
                self.put_bytes(&guid.to_bytes());
            }
            Identifier::ByteString(bytes) => {
                self.put_u8(5);
                self.put_bytes(&node.namespace.to_le_bytes());
                self.put_text(bytes.value.as_deref());
            }
        }
    }
}

impl PutEncoded for Vec<u8> {
    fn put_u8(&mut self, value: u8) {
        self.push(value);
    }
    fn put_bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}
