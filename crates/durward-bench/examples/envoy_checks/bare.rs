//! A server of the same parts (h2, tokio) that reads every call and answers it with the same bytes: the cost of gRPC alone.

use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::task::{Context, Poll};

use bytes::Bytes;
use h2::RecvStream;
use h2::server::{self, SendResponse};
use hyper::Response;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::net::{TcpListener, TcpStream};

/// What may be sent before it is read, as with durward.
const STREAM_WINDOW_BYTES: u32 = 64 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 256 * 1024;

/// Says where it listens, and serves on one thread, as each of durward's does, until nobody holds its input any more.
pub(crate) fn serve(answer: &str) -> io::Result<()> {
    let answer = Bytes::from(bytes(answer)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0)))?;
    let mut output = io::stdout();
    writeln!(output, "{}", listener.local_addr()?)?;
    output.flush()?;
    runtime.block_on(async {
        tokio::spawn(accept(listener, answer));
        let closed = tokio::task::spawn_blocking(|| io::stdin().read_to_end(&mut Vec::new()));
        closed.await.map_err(io::Error::other)?.map(drop)
    })
}

fn bytes(digits: &str) -> io::Result<Vec<u8>> {
    let wrong = || io::Error::other("an answer is an even number of hexadecimal digits");
    let places = (0..digits.len()).step_by(2);
    let byte = |at: usize| {
        let pair = digits.get(at..at + 2).ok_or_else(wrong)?;
        u8::from_str_radix(pair, 16).map_err(|_| wrong())
    };
    places.map(byte).collect()
}

async fn accept(listener: TcpListener, answer: Bytes) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(connection(stream, answer.clone()));
    }
}

/// Answers all calls that came together, as durward does. A connection that breaks off is seen by whoever asked on it.
async fn connection(stream: TcpStream, answer: Bytes) {
    let mut library = server::Builder::new();
    library.initial_window_size(STREAM_WINDOW_BYTES).initial_connection_window_size(CONNECTION_WINDOW_BYTES);
    let Ok(mut library) = library.handshake(stream).await else { return };
    let mut calls = Vec::new();
    poll_fn(|cx| {
        loop {
            match library.poll_accept(cx) {
                Poll::Ready(Some(Ok((request, respond)))) => {
                    calls.push((request.into_body(), respond));
                    continue;
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => {}
            }
            let before = calls.len();
            calls.retain_mut(|(body, respond)| !is_answered(body, respond, &answer, cx));
            if calls.len() == before {
                return Poll::Pending;
            }
        }
    })
    .await;
}

/// Answers a call whose message has come.
fn is_answered(
    body: &mut RecvStream,
    respond: &mut SendResponse<Bytes>,
    answer: &Bytes,
    cx: &mut Context<'_>,
) -> bool {
    while let Poll::Ready(Some(piece)) = body.poll_data(cx) {
        // A caller that has gone needs no answer.
        let Ok(piece) = piece else { return true };
        let _ = body.flow_control().release_capacity(piece.len());
    }
    if body.is_end_stream() {
        // Whoever asked sees what is wrong.
        let _ = send(respond, answer);
    }
    body.is_end_stream()
}

/// With the fields that durward has.
fn send(respond: &mut SendResponse<Bytes>, answer: &Bytes) -> Result<(), h2::Error> {
    let mut head = Response::new(());
    head.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    let mut stream = respond.send_response(head, false)?;
    stream.send_data(answer.clone(), false)?;
    let status = (HeaderName::from_static("grpc-status"), HeaderValue::from_static("0"));
    stream.send_trailers(HeaderMap::from_iter([status]))
}
