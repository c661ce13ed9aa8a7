package edgegauge.cxf;

import edgegauge.adapter.Exchange;
import edgegauge.adapter.Setup;
import java.io.IOException;
import java.io.OutputStream;

/** The client's end of {@link Timing}. */
final class ClientTiming extends Timing {
  ClientTiming(Setup setup) {
    super(setup);
  }

  @Override void send(byte[] message, OutputStream out, Exchange x) throws IOException {
    x.sent = System.nanoTime();
    out.write(message);
  }

  @Override void received(Exchange x) {
    x.done = System.nanoTime();
  }
}
