//! Clients that send anything at all: no panic, no growth, no answer to what was not asked.

use std::collections::HashSet;
use std::time::Duration;

use bytes::BufMut;
use durward_wire::rsocket::connection::{Event, Expects, OUT_BYTES_HIGH};
use durward_wire::rsocket::frame::{ErrorCode, Interaction};
use durward_wire::rsocket::write;

use crate::support::{Dice, LIMITS, Wire, setup};

/// More than the largest frame, a read, and what is answered to it.
const HELD_MAX: usize = 4 * 1024;

/// Something a client may or may not be allowed to send now.
fn speak(wire: &mut Wire, dice: &mut Dice) {
    let stream = if dice.below(300) == 0 { 0 } else { 1 + dice.below(5) as u32 };
    let length = if dice.below(40) == 0 { 0 } else { 4 + dice.below(40) as usize };
    let data = dice.bytes(length);
    let demand = [0, 1, 2, 0x7FFF_FFFF][dice.below(4) as usize];
    wire.say(|out| match dice.below(12) {
        0 => write::request(out, stream, Interaction::Response, 1, b"r", |out| out.put_slice(&data)),
        1 => write::request(out, stream, Interaction::Stream, demand, b"r", |out| out.put_slice(&data)),
        2 => write::request(out, stream, Interaction::FireAndForget, 0, b"r", |_| {}),
        3 => write::request(out, stream, Interaction::Channel, demand, b"r", |_| {}),
        4 => write::request_n(out, stream, demand),
        5 => write::cancel(out, stream),
        6 => write::keep_alive(out, demand == 1, &data),
        7 if dice.below(40) == 0 => write::setup(out, &setup(None)),
        8 if dice.below(40) == 0 => write::error(out, stream, ErrorCode::Canceled, "x"),
        // Any type and flags with any content, often fragments.
        9 | 10 => {
            out.put_uint(6 + data.len() as u64, 3);
            out.put_u32(stream);
            let kind =
                if dice.below(50) == 0 { dice.below(64) } else { [4, 6, 10, 10][dice.below(4) as usize] };
            let kind = kind as u16;
            out.put_u16(kind << 10 | dice.below(1024) as u16 & !0x100 | 0x80);
            out.put_slice(&data);
        }
        11 if dice.below(40) == 0 => out.put_slice(&data),
        _ => {}
    });
}

/// Answers some of what was asked, now or later.
fn answer(wire: &mut Wire, dice: &mut Dice, asked: &mut HashSet<(u32, bool)>) {
    let Some((stream, is_single)) = asked.iter().next().copied() else { return };
    let connection = &mut wire.connection;
    let taken = match (dice.below(4), is_single) {
        (0, _) => {
            connection.reject(stream, ErrorCode::Invalid, "no");
            true
        }
        (1, false) => {
            connection.complete(stream);
            true
        }
        (_, true) => connection.respond(stream, |out| out.put_bytes(1, 30)),
        (_, false) => {
            let wants = connection.wants(stream);
            assert_eq!(connection.send(stream, |out| out.put_bytes(1, 30)), wants);
            false
        }
    };
    if taken {
        asked.remove(&(stream, is_single));
    }
}

#[test]
fn a_connection_driven_at_random_stays_within_its_limits() {
    let (mut closed, mut requests) = (0, 0);
    for seed in 0..400 {
        let mut dice = Dice::new(seed);
        let mut wire = Wire::open();
        let mut asked = HashSet::new();
        for _ in 0..500 {
            if wire.connection.wants_input() {
                speak(&mut wire, &mut dice);
            }
            while let Some(event) = wire.event() {
                match event {
                    Event::Request { stream, expects, .. } => {
                        assert!(asked.insert((stream, expects == Expects::One)), "two of one number");
                        requests += 1;
                    }
                    Event::Cancelled { stream } => {
                        assert!(asked.remove(&(stream, true)) || asked.remove(&(stream, false)));
                    }
                    Event::Demand { stream } => {
                        assert!(asked.contains(&(stream, false)) && wire.connection.wants(stream));
                    }
                    Event::Setup(_) => panic!("a second setup"),
                }
            }
            answer(&mut wire, &mut dice, &mut asked);
            if dice.below(10) == 0 {
                wire.heard();
            }
            wire.wait(Duration::from_millis(dice.below(3_000)));
            let connection = &mut wire.connection;
            assert!(connection.stream_count() <= LIMITS.streams_max);
            assert!(connection.bytes_held() <= HELD_MAX, "{}", connection.bytes_held());
            assert!(connection.out().len() <= OUT_BYTES_HIGH + HELD_MAX);
            if connection.is_closed() {
                closed += 1;
                break;
            }
        }
    }
    // Otherwise nothing hostile was sent, or hardly anything that counts.
    assert!(closed > 100 && requests > 3_000, "{closed} {requests}");
}

#[test]
fn noise_is_never_more_than_refused() {
    for seed in 0..2000 {
        let mut dice = Dice::new(seed);
        let mut wire = if seed % 2 == 0 { Wire::open() } else { Wire::new() };
        let length = dice.below(200) as usize;
        let mut noise = dice.bytes(length);
        if seed % 3 == 0 && noise.len() > 2 {
            // A length that fits, so that there is a frame.
            noise[0] = 0;
            noise[1] = 0;
            noise[2] = (noise.len() - 3) as u8;
        }
        wire.say(|out| out.put_slice(&noise));
        while let Some(event) = wire.event() {
            if let Event::Setup(_) = event {
                wire.connection.accept(None);
            }
        }
        wire.heard();
    }
}
