//! Bytes that no client of ours sends. The server does not panic, hang or grow, and serves others afterwards.

use std::time::Duration;

use bytes::BytesMut;
use durward_opcua::crypto::SecurityPolicy;
use durward_opcua::wire::{
    AsymmetricHeader, ChunkHeader, ChunkKind, ErrorMessage, Finality, HelloMessage, RequestPeek,
    ResponsePeek, SequenceHeader, TransportLimits, context, decode_service, encode_service,
};
use opcua_types::{
    ActivateSessionRequest, CreateSessionRequest, GetEndpointsRequest, MessageSecurityMode,
    OpenSecureChannelRequest, ReadRequest, StatusCode,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fixture::{CLIENT, Running, SERVER, server_settings, whoami};

/// A small generator: tests repeat exactly.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

fn hello() -> Vec<u8> {
    HelloMessage::new(&TransportLimits::DEFAULT, "opc.tcp://localhost").encode()
}

fn open_none(channel: u32, sequence: u32) -> Vec<u8> {
    open_none_with(channel, sequence, |_| {})
}

fn open_none_with(channel: u32, sequence: u32, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let request = OpenSecureChannelRequest {
        security_mode: MessageSecurityMode::None,
        requested_lifetime: 60_000,
        ..OpenSecureChannelRequest::default()
    };
    let mut body = encode_service(&context().context(), &request).unwrap().to_vec();
    change(&mut body);
    let header = AsymmetricHeader {
        channel_id: channel,
        policy_uri: SecurityPolicy::None.uri().to_owned(),
        sender_certificate: Vec::new(),
        receiver_thumbprint: Vec::new(),
    };
    let mut content = BytesMut::new();
    header.encode(&mut content);
    SequenceHeader { number: sequence, request_id: 1 }.encode(&mut content);
    content.extend_from_slice(&body);
    framed(ChunkKind::Open, Finality::Final, &content)
}

fn framed(kind: ChunkKind, finality: Finality, content: &[u8]) -> Vec<u8> {
    let mut chunk = BytesMut::new();
    ChunkHeader { kind, finality, size: (8 + content.len()) as u32 }.encode(&mut chunk);
    chunk.extend_from_slice(content);
    chunk.to_vec()
}

/// A chunk of an unsecured channel.
fn message(ids: [u32; 4], finality: Finality, body: &[u8]) -> Vec<u8> {
    let mut content: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
    content.extend_from_slice(body);
    framed(ChunkKind::Message, finality, &content)
}

/// Sends bytes, then reads to the end: everything that came back. Fails when the server does not close.
async fn send(running: &Running, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let _ = stream.write_all(bytes).await;
    read_to_end(&mut stream).await
}

async fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    let reading = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut answer));
    let _ = reading.await.expect("the server did not close the connection");
    answer
}

/// The status of the Error message that ends an answer.
fn last_error(answer: &[u8]) -> Option<StatusCode> {
    let at = answer.windows(4).rposition(|window| window == b"ERRF")?;
    Some(ErrorMessage::decode(&answer[at + 8..]).unwrap().status)
}

#[tokio::test]
async fn garbage_on_the_port_is_answered_with_an_error_and_the_end() {
    let running = Running::start().await;
    let mut random = Random(0x5eed);
    for _ in 0..60 {
        let length = 8 + random.below(300);
        let garbage = random.bytes(length);
        assert_eq!(last_error(&send(&running, &garbage).await), Some(StatusCode::BadTcpMessageTypeInvalid));
    }
    let too_large = [b"HELF".as_slice(), &1_000_000_u32.to_le_bytes()].concat();
    assert_eq!(last_error(&send(&running, &too_large).await), Some(StatusCode::BadTcpMessageTooLarge));
    let too_small = [b"HELF".as_slice(), &3_u32.to_le_bytes()].concat();
    assert_eq!(last_error(&send(&running, &too_small).await), Some(StatusCode::BadDecodingError));
    let before = framed(ChunkKind::Message, Finality::Final, &[0; 40]);
    assert_eq!(last_error(&send(&running, &before).await), Some(StatusCode::BadTcpMessageTypeInvalid));
    whoami(&running.anonymous().await).await.unwrap();
}

/// The most memory that this process ever mapped, in KiB.
#[cfg(target_os = "linux")]
pub(crate) fn mapped_peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmPeak:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The codec sets aside what an extension object of XML claims, up to 2 GiB, before it reads: a small gateway could be ended by one packet.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_length_that_an_opening_claims_sets_no_memory_aside() {
    let running = Running::start().await;
    let claims = |body: &mut Vec<u8>| {
        let peek = RequestPeek::read(body).unwrap();
        // The additional header is a null node id of two bytes, and that there is no body.
        assert_eq!(&body[peek.parameters - 3..peek.parameters], [0, 0, 0]);
        body.splice(peek.parameters - 1..peek.parameters, [&[2][..], &i32::MAX.to_le_bytes()].concat());
    };
    let before = mapped_peak_kib();
    let bytes = [hello(), open_none_with(0, 1, claims)].concat();
    assert_eq!(last_error(&send(&running, &bytes).await), Some(StatusCode::BadDecodingError));
    assert!(mapped_peak_kib() - before < 1 << 20, "a GiB was mapped");
    whoami(&running.anonymous().await).await.unwrap();
}

/// A channel without security, to its first response: what the server answers to chunks that follow.
async fn after_open(running: &Running, chunks: impl FnOnce(u32, u32) -> Vec<u8>) -> Option<StatusCode> {
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    stream.write_all(&hello()).await.unwrap();
    stream.write_all(&open_none(0, 1)).await.unwrap();
    let mut answer = vec![0; 28];
    stream.read_exact(&mut answer).await.unwrap();
    let mut header = [0; 8];
    stream.read_exact(&mut header).await.unwrap();
    let size = ChunkHeader::decode(&header).unwrap().unwrap().size as usize;
    let mut opened = vec![0; size - 8];
    stream.read_exact(&mut opened).await.unwrap();
    let full = [header.as_slice(), &opened].concat();
    let (_, length) = AsymmetricHeader::decode(&full).unwrap();
    let owned = context();
    let response: opcua_types::OpenSecureChannelResponse =
        decode_service(&owned.context(), &full[length + 8..]).unwrap();
    let token = response.security_token;
    let _ = stream.write_all(&chunks(token.channel_id, token.token_id)).await;
    last_error(&read_to_end(&mut stream).await)
}

#[tokio::test]
async fn chunks_that_break_a_rule_close_the_channel() {
    let running = Running::start().await;
    let body = encode_service(&context().context(), &GetEndpointsRequest::default()).unwrap();
    let run = |chunks: Box<dyn FnOnce(u32, u32) -> Vec<u8>>| after_open(&running, chunks);
    let one = Finality::Final;
    let b = body.clone();
    let wrong_token = run(Box::new(move |channel, token| message([channel, token + 1, 2, 2], one, &b))).await;
    assert_eq!(wrong_token, Some(StatusCode::BadSecureChannelTokenUnknown));
    let b = body.clone();
    let wrong_channel =
        run(Box::new(move |channel, token| message([channel ^ 1, token, 2, 2], one, &b))).await;
    assert_eq!(wrong_channel, Some(StatusCode::BadSecureChannelIdInvalid));
    for number in [0, 1, 3, u32::MAX] {
        let b = body.clone();
        let sequence =
            run(Box::new(move |channel, token| message([channel, token, number, 2], one, &b))).await;
        assert_eq!(sequence, Some(StatusCode::BadSequenceNumberInvalid), "{number}");
    }
    let many = run(Box::new(|channel, token| {
        let chunks = (0..40).map(|n| message([channel, token, 2 + n, 2], Finality::Intermediate, &[0; 16]));
        chunks.collect::<Vec<_>>().concat()
    }));
    assert_eq!(many.await, Some(StatusCode::BadTcpMessageTooLarge));
    let large = run(Box::new(|channel, token| {
        let chunks =
            (0..4).map(|n| message([channel, token, 2 + n, 2], Finality::Intermediate, &[0; 60_000]));
        chunks.collect::<Vec<_>>().concat()
    }));
    assert_eq!(large.await, Some(StatusCode::BadTcpMessageTooLarge));
    let mixed = run(Box::new(|channel, token| {
        let first = message([channel, token, 2, 2], Finality::Intermediate, &[0; 16]);
        [first, message([channel, token, 3, 3], Finality::Final, &[0; 16])].concat()
    }));
    assert_eq!(mixed.await, Some(StatusCode::BadTcpMessageTypeInvalid));
    assert_eq!(run(Box::new(|_, _| hello())).await, Some(StatusCode::BadTcpMessageTypeInvalid));
    let again = run(Box::new(|channel, _| open_none(channel, 2))).await;
    assert_eq!(again, Some(StatusCode::BadRequestTypeInvalid));
    whoami(&running.anonymous().await).await.unwrap();
}

#[tokio::test]
async fn a_service_that_cannot_be_read_is_a_fault_and_the_channel_stays() {
    let running = Running::start().await;
    let ended = after_open(&running, |channel, token| {
        let broken = message([channel, token, 2, 2], Finality::Final, &[1, 0, 0xac, 1, 9, 9]);
        let close: Vec<u8> = [channel, token, 3, 3].iter().flat_map(|id: &u32| id.to_le_bytes()).collect();
        [broken, framed(ChunkKind::Close, Finality::Final, &close)].concat()
    });
    assert_eq!(ended.await, None);
}

#[tokio::test]
async fn mutated_openings_are_refused() {
    let mut settings = server_settings();
    settings.channel.handshake_max = Duration::from_millis(500);
    let running = Running::with(settings).await;
    let header = AsymmetricHeader {
        channel_id: 0,
        policy_uri: SecurityPolicy::Basic256Sha256.uri().to_owned(),
        sender_certificate: CLIENT.certificate().der().to_vec(),
        receiver_thumbprint: SERVER.certificate().thumbprint().to_vec(),
    };
    let open = |header: &AsymmetricHeader, content: &[u8]| {
        let mut chunk = BytesMut::new();
        header.encode(&mut chunk);
        chunk.extend_from_slice(content);
        [hello(), framed(ChunkKind::Open, Finality::Final, &chunk)].concat()
    };
    let mut random = Random(7);
    for length in [0, 1, 255, 256, 512, 1_024] {
        let content = random.bytes(length);
        let answer = send(&running, &open(&header, &content)).await;
        assert_eq!(last_error(&answer), Some(StatusCode::BadSecurityChecksFailed), "{length}");
    }
    let deprecated = AsymmetricHeader {
        policy_uri: "http://opcfoundation.org/UA/SecurityPolicy#Basic128Rsa15".to_owned(),
        ..header.clone()
    };
    let answer = send(&running, &open(&deprecated, &[0; 256])).await;
    assert_eq!(last_error(&answer), Some(StatusCode::BadSecurityPolicyRejected));
    let elsewhere = AsymmetricHeader { receiver_thumbprint: vec![1; 20], ..header.clone() };
    assert_eq!(
        last_error(&send(&running, &open(&elsewhere, &[0; 256])).await),
        Some(StatusCode::BadCertificateInvalid)
    );
    for _ in 0..100 {
        let mut bytes = open(&header, &[3; 256]);
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        send(&running, &bytes).await;
    }
    whoami(&running.anonymous().await).await.unwrap();
}

#[tokio::test]
async fn half_open_connections_end_and_are_bounded() {
    let mut settings = server_settings();
    settings.channel.handshake_max = Duration::from_millis(300);
    settings.limits.half_open_max = 4;
    let running = Running::with(settings).await;
    let mut waiting = Vec::new();
    for _ in 0..4 {
        waiting.push(TcpStream::connect(running.address).await.unwrap());
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    let began = std::time::Instant::now();
    // Slowly sent bytes do not prolong it.
    waiting[0].write_all(b"HELF").await.unwrap();
    let ends = async {
        for stream in &mut waiting {
            assert_eq!(last_error(&read_to_end(stream).await), Some(StatusCode::BadTimeout));
        }
    };
    // One more waits for its turn, and is served when the others are gone.
    let (session, ()) = tokio::join!(running.anonymous(), ends);
    whoami(&session).await.unwrap();
    assert!(began.elapsed() > Duration::from_millis(150) && began.elapsed() < Duration::from_secs(2));
}

/// A channel without security that says nothing more. No certificate is needed for it.
async fn idle_channel(running: &Running) -> TcpStream {
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    stream.write_all(&[hello(), open_none(0, 1)].concat()).await.unwrap();
    let mut answer = [0; 28 + 8];
    stream.read_exact(&mut answer).await.unwrap();
    stream
}

/// They took all places for 75 minutes, or for ever.
#[tokio::test]
async fn channels_without_sessions_make_room() {
    let mut settings = server_settings();
    settings.limits.connections_max = 8;
    let running = Running::with(settings).await;
    let session = running.anonymous().await;
    let mut idle = Vec::new();
    for _ in 0..20 {
        idle.push(idle_channel(&running).await);
    }
    assert_eq!(whoami(&running.anonymous().await).await.unwrap(), "anonymous");
    assert_eq!(whoami(&session).await.unwrap(), "anonymous", "sessions stay");
    assert!(running.server.channel_count() <= 8);
    let mut oldest = idle.remove(0);
    assert_eq!(last_error(&read_to_end(&mut oldest).await), Some(StatusCode::BadTcpNotEnoughResources));
}

#[tokio::test]
async fn a_channel_without_a_session_ends() {
    let mut settings = server_settings();
    settings.limits.unactivated_max = Duration::from_millis(300);
    let running = Running::with(settings).await;
    let session = running.anonymous().await;
    let closed = running.anonymous().await;
    closed.close(true).await.unwrap();
    let kept = closed.channel();
    let mut idle = idle_channel(&running).await;
    assert_eq!(last_error(&read_to_end(&mut idle).await), Some(StatusCode::BadTimeout));
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(running.server.channel_count(), 1, "the one whose session was closed as well");
    drop(kept);
    assert_eq!(whoami(&session).await.unwrap(), "anonymous", "a session keeps its channel");
}

/// How many files this process may have open.
#[cfg(target_os = "linux")]
fn files_max() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap_or(usize::MAX)
}

/// 10,000 clients connect from one address and say nothing, or half of a Hello: as many as this machine lets, beside the server's own ends
/// of 4,096 connections and the other tests. Others are served meanwhile.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_half_open_connections_do_not_keep_others_out() {
    let running = Running::start().await;
    let session = running.anonymous().await;
    let count = files_max().saturating_sub(6_500).min(10_000);
    assert!(count > 500, "raise the limit of open files: ulimit -n");
    let mut open = Vec::new();
    for number in 0..count {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.9:0".parse().unwrap()).unwrap();
        let mut stream = socket.connect(running.address).await.unwrap();
        if number % 2 == 0 {
            let _ = stream.write_all(b"HELF\x20").await;
        }
        open.push(stream);
    }
    println!("{count} half-open connections");
    let began = std::time::Instant::now();
    assert_eq!(whoami(&session).await.unwrap(), "anonymous");
    assert_eq!(whoami(&running.anonymous().await).await.unwrap(), "anonymous");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

/// Whoever comes when all connections have sessions is turned away, and costs nothing but a socket.
#[tokio::test]
async fn connections_are_bounded() {
    let mut settings = server_settings();
    settings.limits.connections_max = 3;
    let running = Running::with(settings).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(running.anonymous().await);
    }
    let mut surplus = TcpStream::connect(running.address).await.unwrap();
    assert!(read_to_end(&mut surplus).await.is_empty());
    drop(open.pop());
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        if running.server.channel_count() == 2 {
            break;
        }
    }
    whoami(&open[0]).await.unwrap();
}

#[tokio::test]
async fn an_open_channel_that_is_not_renewed_ends() {
    let mut settings = server_settings();
    settings.channel.lifetime_min = Duration::from_millis(200);
    settings.channel.lifetime_max = Duration::from_millis(200);
    let running = Running::with(settings).await;
    assert_eq!(after_open(&running, |_, _| Vec::new()).await, Some(StatusCode::BadSecureChannelTokenUnknown));
    assert_eq!(running.server.channel_count(), 0);
}

/// Every decoder, over random and mutated bytes: an error or a value, nothing else.
#[test]
fn decoders_survive_anything() {
    let owned = context();
    let mut random = Random(99);
    let samples: Vec<Vec<u8>> = vec![
        encode_service(&owned.context(), &CreateSessionRequest::default()).unwrap().to_vec(),
        encode_service(&owned.context(), &ActivateSessionRequest::default()).unwrap().to_vec(),
        encode_service(&owned.context(), &ReadRequest::default()).unwrap().to_vec(),
        hello(),
        open_none(1, 1),
    ];
    for round in 0..20_000 {
        let mut bytes = match round % 4 {
            0 => {
                let length = random.below(200);
                random.bytes(length)
            }
            _ => samples[random.below(samples.len())].clone(),
        };
        if !bytes.is_empty() {
            for _ in 0..=random.below(6) {
                let at = random.below(bytes.len());
                bytes[at] = random.next() as u8;
            }
            let keep = random.below(bytes.len() * 2);
            bytes.truncate(keep.max(1));
        }
        let context = owned.context();
        let _ = RequestPeek::read(&bytes).map(|peek| assert!(peek.parameters <= bytes.len()));
        let _ = ResponsePeek::read(&bytes);
        let _ = HelloMessage::decode(&bytes);
        let _ = ErrorMessage::decode(&bytes);
        let _ = AsymmetricHeader::decode(&bytes);
        let _ = ChunkHeader::decode(&bytes);
        let _ = decode_service::<CreateSessionRequest>(&context, &bytes);
        let _ = decode_service::<ActivateSessionRequest>(&context, &bytes);
        let _ = decode_service::<ReadRequest>(&context, &bytes);
        let _ = decode_service::<opcua_types::ReadResponse>(&context, &bytes);
        let _ = decode_service::<opcua_types::WriteRequest>(&context, &bytes);
        let _ = durward_opcua::crypto::split_chain(&bytes);
        let _ = durward_opcua::crypto::Certificate::from_der(&bytes);
    }
}
