//! One connection to a broker, from `CONNECT` to its end.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use bytes::BytesMut;
use rumqttc::v5::mqttbytes::v5::{
    Connect, ConnectProperties, ConnectReturnCode, Disconnect, DisconnectReasonCode, Filter, Login, Packet,
    PingReq, PubAck, PubComp, PubRec, Publish, SubAck, Subscribe, SubscribeReasonCode, Unsubscribe,
};
use rumqttc::v5::mqttbytes::{self, QoS};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

use super::members::Members;
use super::payload;
use super::settings::BrokerKey;
use durward_net::connect::{Connector, Stream};

/// The largest packet that a broker may send, in bytes.
const PACKET_BYTES_MAX: u32 = 1 << 20;
/// How long a broker may take to let us in, and to take what we say.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often the broker is asked whether it is there.
const PING: Duration = Duration::from_secs(15);
/// How often we promise to say something, in seconds: twice as long.
const KEEP_ALIVE_S: u16 = 30;
/// How many filters are asked for in one packet.
const FILTERS_AT_ONCE: usize = 100;

/// How a session ended.
pub(super) enum End {
    /// Nobody listens any more.
    Left,
    /// And why.
    Lost(String),
}

/// Connects and listens. `was_connected` says whether the broker let us in.
pub(super) async fn run(
    connector: &Connector,
    key: &BrokerKey,
    members: &Members,
    was_connected: &mut bool,
    leaving: &mut oneshot::Receiver<()>,
) -> End {
    let connect = async {
        let stream = connector.connect(&key.endpoint).await.map_err(|error| error.to_string())?;
        let mut session = Session::new(stream, members);
        timeout(PATIENCE, session.enter(key)).await.map_err(|_| "the broker does not let us in")??;
        Ok(session)
    };
    let session = tokio::select! {
        session = connect => session,
        _ = &mut *leaving => return End::Left,
    };
    match session {
        Err(reason) => End::Lost(reason),
        Ok(mut session) => {
            *was_connected = true;
            members.connected();
            match session.listen(leaving).await {
                Ok(()) => End::Left,
                Err(reason) => End::Lost(reason),
            }
        }
    }
}

struct Session<'m> {
    stream: Stream,
    members: &'m Members,
    incoming: BytesMut,
    subscribed: BTreeMap<String, u8>,
    /// What was asked for with which packet.
    asked: HashMap<u16, Vec<String>>,
    last_id: u16,
    /// Messages of quality 2 that were heard and not yet released.
    unreleased: BTreeSet<u16>,
    is_pinged: bool,
}

impl Session<'_> {
    fn new(stream: Stream, members: &Members) -> Session<'_> {
        Session {
            stream,
            members,
            incoming: BytesMut::new(),
            subscribed: BTreeMap::new(),
            asked: HashMap::new(),
            last_id: 0,
            unreleased: BTreeSet::new(),
            is_pinged: false,
        }
    }

    async fn enter(&mut self, key: &BrokerKey) -> Result<(), String> {
        let properties = ConnectProperties {
            session_expiry_interval: None,
            receive_maximum: None,
            max_packet_size: Some(PACKET_BYTES_MAX),
            topic_alias_max: None,
            request_response_info: None,
            request_problem_info: None,
            user_properties: Vec::new(),
            authentication_method: None,
            authentication_data: None,
        };
        let connect = Connect {
            keep_alive: KEEP_ALIVE_S,
            client_id: key.client_id.clone(),
            clean_start: true,
            properties: Some(properties),
        };
        let has_login = !key.username.is_empty() || !key.password.is_empty();
        let login = has_login.then(|| Login::new(key.username.as_str(), key.password.as_str()));
        self.say(&Packet::Connect(connect, None, login)).await?;
        loop {
            if let Some(packet) = self.read()? {
                let Packet::ConnAck(answer) = packet else {
                    return Err("the broker speaks out of turn".into());
                };
                let is_in = answer.code == ConnectReturnCode::Success;
                let refused = || format!("the broker refuses us: {:?}", answer.code);
                return if is_in { Ok(()) } else { Err(refused()) };
            }
            self.receive().await?;
        }
    }

    async fn listen(&mut self, leaving: &mut oneshot::Receiver<()>) -> Result<(), String> {
        let mut pings = pings();
        self.settle().await?;
        loop {
            while let Some(packet) = self.read()? {
                self.hear(packet).await?;
            }
            let members = self.members;
            tokio::select! {
                received = self.receive() => received?,
                () = members.changed.notified() => self.settle().await?,
                _ = pings.tick() => self.ping().await?,
                _ = &mut *leaving => {
                    let bye = Disconnect::new(DisconnectReasonCode::NormalDisconnection);
                    // It makes no difference any more.
                    let _ = self.say(&Packet::Disconnect(bye)).await;
                    return Ok(());
                }
            }
        }
    }

    /// Reads what has come, without waiting for a whole packet; can be given up at any time.
    async fn receive(&mut self) -> Result<(), String> {
        match self.stream.read_buf(&mut self.incoming).await {
            Ok(0) => Err("the broker closed the connection".into()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The next packet, if all of it is there.
    fn read(&mut self) -> Result<Option<Packet>, String> {
        if self.incoming.is_empty() {
            return Ok(None);
        }
        // What a broken broker sends must not take the connections of others down.
        let read = || Packet::read(&mut self.incoming, Some(PACKET_BYTES_MAX));
        match catch_unwind(AssertUnwindSafe(read)) {
            Ok(Ok(packet)) => Ok(Some(packet)),
            Ok(Err(mqttbytes::Error::InsufficientBytes(_))) => Ok(None),
            Ok(Err(error)) => Err(format!("the broker sends what is no MQTT: {error}")),
            Err(_) => Err("the broker sends what is no MQTT".into()),
        }
    }

    async fn say(&mut self, packet: &Packet) -> Result<(), String> {
        let mut bytes = BytesMut::new();
        packet.write(&mut bytes, None).map_err(|error| error.to_string())?;
        let write = timeout(PATIENCE, async {
            self.stream.write_all(&bytes).await?;
            self.stream.flush().await
        });
        let written = write.await.map_err(|_| "the broker does not listen")?;
        written.map_err(|error| error.to_string())
    }

    async fn hear(&mut self, packet: Packet) -> Result<(), String> {
        match packet {
            Packet::Publish(publish) => self.publish(publish).await,
            Packet::PubRel(release) => {
                self.unreleased.remove(&release.pkid);
                self.say(&Packet::PubComp(PubComp::new(release.pkid, None))).await
            }
            Packet::SubAck(answer) => {
                self.answered(&answer);
                Ok(())
            }
            Packet::PingResp(_) => {
                self.is_pinged = false;
                Ok(())
            }
            Packet::Disconnect(reason) => Err(format!("the broker dismisses us: {:?}", reason.reason_code)),
            Packet::UnsubAck(_) => Ok(()),
            Packet::Auth(_)
            | Packet::Connect(..)
            | Packet::ConnAck(_)
            | Packet::PubAck(_)
            | Packet::PubRec(_)
            | Packet::PubComp(_)
            | Packet::PingReq(_)
            | Packet::Subscribe(_)
            | Packet::Unsubscribe(_) => Err("the broker speaks out of turn".into()),
        }
    }

    async fn publish(&mut self, publish: Publish) -> Result<(), String> {
        let is_first = publish.qos != QoS::ExactlyOnce || self.unreleased.insert(publish.pkid);
        if is_first && let Ok(topic) = std::str::from_utf8(&publish.topic) {
            let properties = publish.properties.as_ref();
            let is_text =
                properties.and_then(|properties| properties.payload_format_indicator).map(|it| it == 1);
            let content_type = properties.and_then(|properties| properties.content_type.as_deref());
            let value = || payload::value(&publish.payload, is_text, content_type);
            self.members.deliver(topic, publish.retain, value);
        }
        match publish.qos {
            QoS::AtMostOnce => Ok(()),
            QoS::AtLeastOnce => self.say(&Packet::PubAck(PubAck::new(publish.pkid, None))).await,
            QoS::ExactlyOnce => self.say(&Packet::PubRec(PubRec::new(publish.pkid, None))).await,
        }
    }

    fn answered(&mut self, answer: &SubAck) {
        let filters = self.asked.remove(&answer.pkid).unwrap_or_default();
        for (filter, code) in filters.iter().zip(&answer.return_codes) {
            let is_given = matches!(code, SubscribeReasonCode::Success(_));
            if !is_given {
                self.members.refuse(filter, &format!("{code:?}"));
            }
        }
    }

    /// Asks for what members want by now.
    async fn settle(&mut self) -> Result<(), String> {
        let difference = self.members.difference(&mut self.subscribed);
        for filters in difference.subscribe.chunks(FILTERS_AT_ONCE) {
            let pkid = self.next_id();
            self.asked.insert(pkid, filters.iter().map(|(filter, _)| filter.clone()).collect());
            let filter = |(filter, qos): &(String, u8)| Filter::new(filter.as_str(), quality(*qos));
            let subscribe =
                Subscribe { pkid, filters: filters.iter().map(filter).collect(), properties: None };
            self.say(&Packet::Subscribe(subscribe)).await?;
        }
        for filters in difference.unsubscribe.chunks(FILTERS_AT_ONCE) {
            let unsubscribe =
                Unsubscribe { pkid: self.next_id(), filters: filters.to_vec(), properties: None };
            self.say(&Packet::Unsubscribe(unsubscribe)).await?;
        }
        Ok(())
    }

    async fn ping(&mut self) -> Result<(), String> {
        if std::mem::replace(&mut self.is_pinged, true) {
            return Err("the broker does not answer any more".into());
        }
        self.say(&Packet::PingReq(PingReq)).await
    }

    /// Identifiers go from 1 to 65535, and then from the start.
    fn next_id(&mut self) -> u16 {
        self.last_id = self.last_id.checked_add(1).unwrap_or(1);
        self.last_id
    }
}

fn quality(qos: u8) -> QoS {
    match qos {
        0 => QoS::AtMostOnce,
        1 => QoS::AtLeastOnce,
        _ => QoS::ExactlyOnce,
    }
}

fn pings() -> Interval {
    let mut pings = interval(PING);
    // The first is due at once.
    pings.reset();
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pings
}
