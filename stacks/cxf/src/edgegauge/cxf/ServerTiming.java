package edgegauge.cxf;

import edgegauge.adapter.Exchange;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Setup;
import edgegauge.jaxrs.Refusal;
import java.io.IOException;
import java.io.OutputStream;
import javax.ws.rs.ext.ReaderInterceptorContext;

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

  @Override public Object aroundReadFrom(ReaderInterceptorContext c) {
    try {
      return super.aroundReadFrom(c);
    } catch (IOException | RuntimeException e) {
      throw Refusal.unreadable(e);
    }
  }
}
