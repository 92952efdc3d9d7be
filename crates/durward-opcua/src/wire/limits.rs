//! Limits: what is negotiated in Hello and Acknowledge, and what this crate allows at all.

/// The smallest buffer that either side may offer (Part 6, 7.1.2.3).
pub const BUFFER_BYTES_MIN: u32 = 8_192;

/// What one side offers in Hello or Acknowledge; what both keep to after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportLimits {
    /// The largest chunk that this side receives, in bytes.
    pub receive_buffer_bytes: u32,
    /// The largest chunk that this side sends, in bytes.
    pub send_buffer_bytes: u32,
    /// What this side takes as one message. Not to be confused with what the other side takes.
    pub receive: MessageLimits,
}

/// How large one message may be. In the protocol 0 means "no limit"; here limits are always numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageLimits {
    /// Body bytes of one message.
    pub message_bytes_max: u32,
    /// Chunks of one message.
    pub chunk_count_max: u32,
}

impl MessageLimits {
    /// A certificate chain and 64 KiB: whoever has not activated a session needs no more.
    pub const BEFORE_ACTIVATION: MessageLimits =
        MessageLimits { message_bytes_max: 96 * 1024, chunk_count_max: 16 };

    /// What the peer may be sent when it named no limit.
    pub const UNBOUNDED: MessageLimits =
        MessageLimits { message_bytes_max: u32::MAX, chunk_count_max: u32::MAX };

    /// The limits as a peer wrote them, where 0 means none.
    pub fn of_peer(message_bytes: u32, chunk_count: u32) -> MessageLimits {
        let or_unbounded = |limit: u32| if limit == 0 { u32::MAX } else { limit };
        MessageLimits {
            message_bytes_max: or_unbounded(message_bytes),
            chunk_count_max: or_unbounded(chunk_count),
        }
    }
}

impl TransportLimits {
    /// 64 KiB a chunk, 16 MiB a message, in at most 2,048 chunks (the smallest chunks of a message of that size).
    pub const DEFAULT: TransportLimits = TransportLimits {
        receive_buffer_bytes: 65_535,
        send_buffer_bytes: 65_535,
        receive: MessageLimits { message_bytes_max: 16 * 1024 * 1024, chunk_count_max: 2_048 },
    };
}

impl Default for TransportLimits {
    fn default() -> TransportLimits {
        TransportLimits::DEFAULT
    }
}
