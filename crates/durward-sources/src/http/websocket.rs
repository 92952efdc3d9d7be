//! WebSockets (RFC 6455): each message that comes is a value.

use std::time::Duration;

use durward_pdp::SourceError;
use durward_pdp::stream::Publisher;
use futures_util::{SinkExt, StreamExt};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::{CapacityError, Error};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Bytes, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use durward_net::http::told;
use durward_net::trace;

use super::client::{Client, of_json};
use super::request::Request;
use durward_net::connect::Stream;

/// After how long a silence the service is asked whether it is there; after as long again it is not.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long closing a WebSocket may take.
const LEAVE_TIME_MAX: Duration = Duration::from_secs(1);

impl Client {
    /// Connects, sends the body, and publishes what comes, until the service closes or `leave` is ready.
    pub(super) async fn listen(
        &self,
        request: Request,
        publisher: &Publisher,
        leave: oneshot::Receiver<()>,
    ) -> Result<(), SourceError> {
        let _permit = self.stream_permit()?;
        let service = request.endpoint().to_string();
        let failed = |reason: String| SourceError::new(format!("{service}: {reason}"));
        self.listen_to_end(request, publisher, leave).await.map_err(failed)
    }

    async fn listen_to_end(
        &self,
        request: Request,
        publisher: &Publisher,
        mut leave: oneshot::Receiver<()>,
    ) -> Result<(), String> {
        let bytes_max = request.answer_bytes_max;
        let body = request.body.clone();
        let open = timeout(self.answer_time_max, self.open(request));
        let mut socket = tokio::select! {
            socket = open => socket.map_err(|_| "no answer within the time allowed")??,
            _ = &mut leave => return Ok(()),
        };
        if let Some(body) = body {
            let text = String::from_utf8_lossy(&body).into_owned();
            socket.send(Message::text(text)).await.map_err(|error| told(&error))?;
        }
        let mut silence = Silence::new();
        loop {
            tokio::select! {
                message = socket.next() => {
                    silence = Silence::new();
                    match message {
                        Some(Ok(Message::Text(text))) => {
                            publisher.publish(of_json(text.as_bytes()));
                        }
                        // Binary ones are passed over, as in SAPL's engine.
                        Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                        Some(Ok(Message::Close(_)) | Err(Error::ConnectionClosed)) | None => return Ok(()),
                        Some(Err(error)) => return Err(reason(&error, bytes_max)),
                    }
                }
                () = sleep_until(silence.until) => silence.ask(&mut socket).await?,
                _ = &mut leave => {
                    let _ = timeout(LEAVE_TIME_MAX, socket.close(None)).await;
                    return Ok(());
                }
            }
        }
    }

    async fn open(&self, request: Request) -> Result<WebSocketStream<Stream>, String> {
        let mut message = request
            .url
            .uri("ws", "wss")
            .map_err(|error| error.to_string())?
            .into_client_request()
            .map_err(|error| told(&error))?;
        let own = request.headers.iter();
        for (name, value) in own.filter(|(name, _)| !name.as_str().starts_with("sec-websocket-")) {
            message.headers_mut().append(name, value.clone());
        }
        trace::pass_on(message.headers_mut());
        let stream = self.connector().connect(request.endpoint()).await.map_err(|error| told(&error))?;
        let bytes_max = Some(request.answer_bytes_max);
        let config = WebSocketConfig::default().max_message_size(bytes_max).max_frame_size(bytes_max);
        let opened = client_async_with_config(message, stream, Some(config)).await;
        opened.map(|(socket, _)| socket).map_err(|error| reason(&error, request.answer_bytes_max))
    }
}

/// How long nothing has come.
struct Silence {
    until: Instant,
    is_asked: bool,
}

impl Silence {
    fn new() -> Silence {
        Silence { until: Instant::now() + PATIENCE, is_asked: false }
    }

    async fn ask(&mut self, socket: &mut WebSocketStream<Stream>) -> Result<(), String> {
        if self.is_asked {
            return Err("the service does not answer any more".into());
        }
        *self = Silence { is_asked: true, ..Silence::new() };
        socket.send(Message::Ping(Bytes::new())).await.map_err(|error| told(&error))
    }
}

fn reason(error: &Error, bytes_max: usize) -> String {
    if let Error::Http(answer) = error {
        return format!("HTTP {}", answer.status().as_u16());
    }
    if let Error::Capacity(CapacityError::MessageTooLong { .. }) = error {
        return super::client::too_large(bytes_max);
    }
    told(error)
}
