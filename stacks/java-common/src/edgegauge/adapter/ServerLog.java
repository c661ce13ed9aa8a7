package edgegauge.adapter;

import java.util.concurrent.atomic.AtomicInteger;

/** A server's records since the last report. */
public final class ServerLog {
  private static final Exchange UNKNOWN = new Exchange();

  private Log log = new Log(Log.SERVER, 0);
  private final AtomicInteger sending = new AtomicInteger();

  /**
   * Says that a response is about to be handed to the socket. The client may have it, and ask for the report, before {@link #sent} is reached: the
   * report waits for it.
   */
  public void sending() {
    sending.incrementAndGet();
  }

  /** Records the exchange, its response handed to the socket. Always follows {@link #sending}. */
  public void sent(Exchange x) {
    x.total = System.nanoTime() - x.begun;
    synchronized (this) {
      log.server(x);
    }
    sending.decrementAndGet();
  }

  /** Counts an exchange of which nothing is known, since there are no hooks. */
  void answered() {
    synchronized (this) {
      log.server(UNKNOWN);
    }
  }

  /** Takes all records, after waiting at most a second for responses on their way. */
  synchronized Log take() throws InterruptedException {
    for (long until = System.nanoTime() + 1_000_000_000L; sending.get() > 0 && System.nanoTime() < until; ) wait(1);
    Log full = log;
    log = new Log(Log.SERVER, full.count());
    return full;
  }
}
