package edgegauge.cxf;

import edgegauge.adapter.Exchange;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Setup;
import edgegauge.jaxrs.Refusal;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import javax.ws.rs.core.MultivaluedMap;

/** The server's end of {@link Timing}: what it cannot read is the client's fault. */
final class ServerTiming extends Timing {
  private final ServerLog log;

  ServerTiming(Setup setup, ServerLog log) {
    super(setup);
    this.log = log;
  }

  @Override void send(byte[] message, OutputStream out, Exchange x) throws IOException {
    log.sending();
    try {
      out.write(message);
    } finally {
      log.sent(x);
    }
  }

  @Override void received(Exchange x) {
    x.begin();
  }

  @Override Object read(Read provider, MultivaluedMap<String, String> headers, InputStream in) {
    try {
      return super.read(provider, headers, in);
    } catch (IOException | RuntimeException e) {
      throw Refusal.unreadable(e);
    }
  }
}
