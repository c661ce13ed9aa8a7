package edgegauge.axis2;

import edgegauge.adapter.Body;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Setup;
import java.io.IOException;
import java.io.InputStream;
import org.apache.axis2.context.MessageContext;

/** {@link ServerHook} for Axis2's own HTTP server: the message is received here. */
final class SocketHook extends ServerHook {
  private final Setup setup;

  SocketHook(Setup setup, ServerLog log) {
    super(log);
    this.setup = setup;
  }

  @Override public byte[] receive(InputStream in, MessageContext m) throws Exception {
    if (in == null) return new byte[0]; // a GET
    byte[] b;
    try {
      b = Body.read(in, Gate.ANNOUNCED.get(), setup.bodyLimit);
    } catch (IOException e) {
      throw Faults.sender(e, m);
    }
    Exchange.mine().begin().in = b.length;
    return b;
  }
}
