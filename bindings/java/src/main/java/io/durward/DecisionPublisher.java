package io.durward;

import java.util.Objects;
import java.util.concurrent.Flow;
import java.util.function.Supplier;

/** Decisions for subscribers. Each has a watch and a thread of its own: the thread waits within the library, where no virtual thread should. */
final class DecisionPublisher implements Flow.Publisher<Decision> {
    private final Supplier<Watch> open;

    DecisionPublisher(Supplier<Watch> open) {
        this.open = open;
    }

    @Override
    public void subscribe(Flow.Subscriber<? super Decision> subscriber) {
        Objects.requireNonNull(subscriber, "subscriber");
        Watch watch;
        try {
            watch = open.get();
        } catch (RuntimeException error) {
            subscriber.onSubscribe(new Ended());
            subscriber.onError(error);
            return;
        }
        Running running = new Running(subscriber, watch);
        Thread thread = new Thread(running, "durward-publisher");
        thread.setDaemon(true);
        thread.start();
    }

    /** The subscription of somebody who gets nothing but an error. */
    private static final class Ended implements Flow.Subscription {
        @Override
        public void request(long count) {}

        @Override
        public void cancel() {}
    }

    private static final class Running implements Flow.Subscription, Runnable {
        private final Flow.Subscriber<? super Decision> subscriber;
        private final Watch watch;
        private long wanted;
        private boolean isCancelled;
        private RuntimeException misuse;

        Running(Flow.Subscriber<? super Decision> subscriber, Watch watch) {
            this.subscriber = subscriber;
            this.watch = watch;
        }

        /** One after the other on this thread, as subscribers may rely on. */
        @Override
        public void run() {
            try (watch) {
                subscriber.onSubscribe(this);
                while (isWanted() && watch.hasNext()) {
                    subscriber.onNext(watch.next());
                }
                end();
            } catch (RuntimeException error) {
                // Of the library, or of the subscriber, who has then cancelled (rule 2.13 of Reactive Streams).
                if (!isCancelled()) {
                    subscriber.onError(error);
                }
            }
        }

        /** Waits until more is wanted; false once nothing will be. */
        private synchronized boolean isWanted() {
            while (wanted == 0 && !isCancelled && misuse == null) {
                try {
                    wait();
                } catch (InterruptedException interrupted) {
                    isCancelled = true;
                }
            }
            if (wanted > 0 && wanted < Long.MAX_VALUE) {
                wanted--;
            }
            return !isCancelled && misuse == null;
        }

        private void end() {
            RuntimeException error;
            synchronized (this) {
                if (isCancelled) {
                    return;
                }
                error = misuse;
            }
            if (error == null) {
                subscriber.onComplete();
            } else {
                subscriber.onError(error);
            }
        }

        private synchronized boolean isCancelled() {
            return isCancelled;
        }

        @Override
        public void request(long count) {
            synchronized (this) {
                if (count <= 0) {
                    misuse = new IllegalArgumentException(count + " decisions cannot be asked for");
                } else {
                    wanted = wanted + count < 0 ? Long.MAX_VALUE : wanted + count;
                }
                notifyAll();
            }
            if (count <= 0) {
                watch.close();
            }
        }

        @Override
        public void cancel() {
            synchronized (this) {
                isCancelled = true;
                notifyAll();
            }
            // On another thread than the one that waits, or between two decisions.
            watch.close();
        }
    }
}
