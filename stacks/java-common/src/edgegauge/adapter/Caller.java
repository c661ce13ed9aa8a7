package edgegauge.adapter;

import java.util.Collections;
import java.util.Map;

/** One connection of a client, used by one thread at a time. */
public interface Caller {
  /**
   * Sends one request and returns its answer, filling x: sent and done, serialization and deserialization, out and in. Any exception is a failed
   * request with its message as the reason. What it opens for this request alone is in the connection of x; what turns the answer into plain values
   * only to check it follows x.decoded().
   */
  Message call(Message request, Exchange x) throws Exception;

  /** Closes what was for the last request alone. It is called after each, failed or not, when its time is over: closing is no part of the total. */
  default void finished() throws Exception {}

  /** What this client did once before its first request, in ns by name: "discovery", "metadata" (../PROTOCOL.md). */
  default Map<String, Long> phases() {
    return Collections.emptyMap();
  }
}
