package edgegauge.jaxws;

import com.sun.xml.ws.api.message.Packet;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.ServerLog;

/** The server's side of the hooks; {@link Implementation} reads the clock where binding ends and begins. Everything of a request is on its thread. */
final class ServerSide implements Clock.Side {
  /** When binding began, or the answer was there. */
  static final ThreadLocal<long[]> MARK = ThreadLocal.withInitial(() -> new long[1]);

  private final ServerLog log;

  ServerSide(ServerLog log) {
    this.log = log;
  }

  @Override public void received(int bytes) {}

  @Override public void opened(long ns) {
    Exchange.mine().deserialization += ns;
  }

  @Override public void inward() {
    MARK.get()[0] = System.nanoTime();
  }

  @Override public void outward() {
    Exchange.mine().serialization += System.nanoTime() - MARK.get()[0];
  }

  @Override public void serialized(long ns, int bytes, Packet p) {
    Exchange x = Exchange.mine();
    x.serialization += ns;
    x.out = bytes;
  }

  @Override public void sending(Packet p) {
    if (!p.getMessage().isFault()) log.sending();
  }

  @Override public void sent(Packet p) {
    if (!p.getMessage().isFault()) log.sent(Exchange.mine());
  }
}
