package edgegauge.adapter;

/**
 * One request and its response as this side sees it, filled at the framework's hooks and copied into the log at its end. Frameworks call their hooks
 * on the thread of the request, so each thread has one and uses it again: nothing is allocated.
 */
public final class Exchange {
  private static final ThreadLocal<Exchange> MINE = ThreadLocal.withInitial(Exchange::new);

  public long seq;
  public long due;        // client: since the run's start
  public long sent, done; // client: System.nanoTime; 0 if it did not happen
  public long begun;      // System.nanoTime: client before serialization, server when the request is whole
  public long connection; // client, duration: making a connection, or seeing that a kept one still stands, before sent
  public long serialization, processing, deserialization, total; // durations
  public long out, in;    // bytes of message body
  public String failure = "";

  /** This thread's exchange. */
  public static Exchange mine() {
    return MINE.get();
  }

  /** Forgets all but seq and due, and begins now. */
  public Exchange begin() {
    sent = done = connection = serialization = processing = deserialization = total = out = in = 0;
    failure = "";
    begun = System.nanoTime();
    return this;
  }

  /** Ends a client's total, at the first call: the answer is decoded, and what follows only checks it or closes. */
  public void decoded() {
    if (total == 0) total = System.nanoTime() - begun;
  }

  /** Keeps of a client's exchange what is known without hooks: when the framework's call began and ended. */
  void unhooked() {
    sent = begun;
    done = failure.isEmpty() ? begun + total : 0;
    connection = serialization = deserialization = out = in = 0;
  }
}
