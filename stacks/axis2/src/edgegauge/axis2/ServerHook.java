package edgegauge.axis2;

import edgegauge.adapter.Body;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Setup;
import java.io.InputStream;
import java.io.OutputStream;
import org.apache.axis2.context.MessageContext;

/** The server's side of the hooks; {@link Receiver} adds the binding. */
final class ServerHook implements Hooks.Side {
  private final Setup setup;
  private final ServerLog log;

  ServerHook(Setup setup, ServerLog log) {
    this.setup = setup;
    this.log = log;
  }

  @Override public byte[] receive(InputStream in, MessageContext m) throws Exception {
    if (in == null) return new byte[0]; // a GET
    byte[] b;
    try {
      b = Body.read(in, Gate.ANNOUNCED.get(), setup.bodyLimit);
    } catch (java.io.IOException e) {
      throw Faults.sender(e, m);
    }
    Exchange.mine().begin().in = b.length;
    return b;
  }

  @Override public void opened(long ns, MessageContext m) {
    Exchange.mine().deserialization += ns;
  }

  @Override public void serialized(long ns, int bytes, MessageContext m) {
    Exchange x = Exchange.mine();
    x.serialization += ns;
    x.out = bytes;
  }

  @Override public void send(byte[] message, OutputStream out, MessageContext m) throws Exception {
    if (m.isProcessingFault()) {
      out.write(message);
      return;
    }
    log.sending();
    try {
      out.write(message);
    } finally {
      log.sent(Exchange.mine());
    }
  }
}
