//! What holds for every connection that is accepted over TCP.

use std::io;
use std::time::Duration;

#[cfg(any(target_os = "android", target_os = "linux"))]
use socket2::SockRef;
use tokio::net::TcpStream;

/// Makes a connection ready; the other side has so long to acknowledge what is written. Failing changes nothing else.
pub fn prepare(stream: &TcpStream, taking_time_max: Duration) {
    // Answers are written whole: waiting for more to send would only delay them.
    let _ = stream.set_nodelay(true);
    // The system takes what is written whether or not anybody is there any more, and by itself gives up a quarter of
    // an hour later. Streams of events write rarely, so only this finds those whose readers went without a word.
    #[cfg(any(target_os = "android", target_os = "linux"))]
    let _ = SockRef::from(stream).set_tcp_user_timeout(Some(taking_time_max));
    #[cfg(not(any(target_os = "android", target_os = "linux")))]
    let _ = taking_time_max;
}

/// Whether the system gave a connection up because what was written was not taken in time. It tells a reason from
/// further down where it heard one, such as that nobody knows the way.
pub fn is_given_up(error: &io::Error) -> bool {
    use io::ErrorKind::{HostUnreachable, NetworkUnreachable, TimedOut};
    matches!(error.kind(), TimedOut | HostUnreachable | NetworkUnreachable)
}

#[cfg(all(test, any(target_os = "android", target_os = "linux")))]
mod tests {
    use std::time::Duration;

    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn whoever_stops_to_acknowledge_is_given_up_in_the_time_for_answers() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connecting = TcpStream::connect(listener.local_addr().unwrap());
        let (_client, accepted) = tokio::join!(connecting, listener.accept());
        let (stream, _) = accepted.unwrap();
        prepare(&stream, Duration::from_millis(1234));
        let time = SockRef::from(&stream).tcp_user_timeout().unwrap();
        assert_eq!(time, Some(Duration::from_millis(1234)));
    }
}
