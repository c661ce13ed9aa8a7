package edgegauge.adapter;

import java.util.Arrays;
import java.util.List;

/** What a framework does together: each of the encodings with each security, transport and way to use connections. A stack.yaml has the same. */
public final class Offer {
  final List<String> encodings, securities, transports, connections;

  /** connections: keep-alive, per-request; both where none is given. */
  public Offer(String[] encodings, String[] securities, String[] transports, String... connections) {
    this.encodings = Arrays.asList(encodings);
    this.securities = Arrays.asList(securities);
    this.transports = Arrays.asList(transports);
    this.connections = Arrays.asList(connections.length > 0 ? connections : new String[] {"keep-alive", "per-request"});
  }

  /** A server uses connections as its client does. */
  boolean has(Setup s) {
    return encodings.contains(s.encoding) && securities.contains(s.security)
        && (s.transport.isEmpty() || transports.contains(s.transport))
        && (s.type().equals("serve") || connections.contains(s.connection));
  }
}
