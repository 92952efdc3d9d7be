//! Sources, subscribers and the driver on threads of their own.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use durward_pdp::stream::{BrokerSettings, Finder, Streams};

use crate::world::{Ask, Rules, Sources, World, number, take, value};

#[derive(Default)]
struct Bell {
    rung: Mutex<usize>,
    changed: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap() += 1;
        self.changed.notify_all();
    }

    fn wait(&self) {
        let mut rung = self.rung.lock().unwrap();
        while *rung == 0 {
            let (guard, timeout) = self.changed.wait_timeout(rung, Duration::from_secs(20)).unwrap();
            assert!(!timeout.timed_out(), "nobody rang");
            rung = guard;
        }
        *rung = 0;
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Bell>) {
        self.ring();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(Arc::clone(&bell));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(ready) => return ready,
            Poll::Pending => bell.wait(),
        }
    }
}

#[test]
fn subscribers_are_woken_by_what_other_threads_publish() {
    let bell = Arc::new(Bell::default());
    let wake = Arc::clone(&bell);
    let streams = Streams::new(Arc::new(Rules::default()), BrokerSettings::default(), 0, move || wake.ring());
    let sources = Sources::default();
    streams.set_finders(vec![Finder::outside(sources.clone())], 0);
    let is_over = Arc::new(AtomicUsize::new(0));
    let driver = {
        let (streams, is_over, bell) = (streams.clone(), Arc::clone(&is_over), Arc::clone(&bell));
        thread::spawn(move || {
            while is_over.load(Ordering::SeqCst) == 0 {
                bell.wait();
                while streams.tick(0) == Some(0) {}
            }
        })
    };
    let subscribers: Vec<_> = (0..4)
        .map(|_| {
            let streams = streams.clone();
            thread::spawn(move || {
                let mut subscription = streams.subscribe(value("src.a").into(), 0).unwrap();
                let mut seen = Vec::new();
                while seen.last().is_none_or(|last| *last != 10_000) {
                    let found = block_on(subscription.next());
                    seen.push(found.0.parse::<i64>().unwrap());
                }
                seen
            })
        })
        .collect();
    while streams.info().subscriptions < 4 {
        thread::yield_now();
    }
    let publisher = sources.publisher("src.a");
    let publishing = thread::spawn(move || (0..=10_000).for_each(|n| publisher.publish(Ok(number(n)))));
    for subscriber in subscribers {
        let seen = subscriber.join().unwrap();
        assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "{seen:?}");
    }
    publishing.join().unwrap();
    is_over.store(1, Ordering::SeqCst);
    bell.ring();
    driver.join().unwrap();
    while streams.tick(0) == Some(0) {}
    assert_eq!(streams.info().subscriptions, 0);
    assert_eq!(sources.count("src.a").0, 0);
}

#[test]
fn the_driver_is_woken_when_it_must_come_earlier() {
    let mut world = World::new();
    let mut subscription = world.subscribe(value("src.a"));
    // `World::run` sleeps until it is woken or the time comes that it was told.
    world.run(3_000);
    assert_eq!(take(&mut subscription).unwrap(), "undefined");
}

#[test]
fn a_task_is_woken_for_news_only() {
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Count>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let mut world = World::new();
    let mut subscription = world.subscribe(value("src.a"));
    let count = Arc::new(Count(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&count));
    let mut poll = || subscription.poll_next(&mut Context::from_waker(&waker));
    assert!(poll().is_pending());
    world.sources.publish("src.a", number(1));
    world.settle();
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
    assert!(poll().is_ready());
    assert!(poll().is_pending());
    // Decided again, with the same outcome.
    world.streams.replace(Arc::new(Rules::default()), 0);
    world.settle();
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
    let _other = world.subscribe(Ask::Nothing);
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
}
