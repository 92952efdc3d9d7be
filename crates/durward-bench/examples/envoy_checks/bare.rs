//! A server of the same parts (hyper, h2, tokio) that reads every call and answers it with the same bytes: the cost of gRPC alone.

use std::convert::Infallible;
use std::io::{self, Read, Write};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

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
        let answer = answer.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| answered(answer.clone(), request));
            let server = http2::Builder::new(TokioExecutor::new());
            // A connection that breaks off is seen by whoever asked on it.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// With as many fields as durward has.
async fn answered(
    answer: Bytes,
    request: Request<Incoming>,
) -> hyper::Result<Response<impl Body<Data = Bytes, Error = Infallible>>> {
    request.into_body().collect().await?;
    let status = (HeaderName::from_static("grpc-status"), HeaderValue::from_static("0"));
    let trailers = async { Some(Ok(HeaderMap::from_iter([status]))) };
    let mut response = Response::new(Full::new(answer).with_trailers(trailers));
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    fields.insert("x-request-id", HeaderValue::from_static("mhwv2jx2-1k3f"));
    Ok(response)
}
