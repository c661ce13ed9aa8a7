package edgegauge.axis2;

import edgegauge.adapter.Exchange;
import edgegauge.adapter.ServerLog;
import java.io.OutputStream;
import org.apache.axis2.context.MessageContext;

/** The server's side of the hooks but for where a message comes from; {@link Receiver} adds the binding. */
abstract class ServerHook implements Hooks.Side {
  volatile ServerLog log;

  ServerHook(ServerLog log) {
    this.log = log;
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
    ServerLog to = log;
    to.sending();
    try {
      out.write(message);
    } finally {
      to.sent(Exchange.mine());
    }
  }
}
