package edgegauge.axis2;

import edgegauge.adapter.Body;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.ServerLog;
import java.io.InputStream;
import org.apache.axis2.context.MessageContext;

/** {@link ServerHook} in a server: the message is in memory already, by Gate. */
final class WarHook extends ServerHook {
  WarHook(ServerLog log) {
    super(log);
  }

  @Override public byte[] receive(InputStream in, MessageContext m) throws Exception {
    Exchange x = Exchange.mine();
    return Body.read(in, x.in, x.in);
  }
}
