package edgegauge.jaxws;

import com.sun.xml.ws.api.message.Packet;
import edgegauge.adapter.Exchange;

/** The client's side of the hooks; {@link ProxyCaller} reads the clock where binding ends. */
final class ClientSide implements Clock.Side {
  /** When binding of the response began. */
  static final ThreadLocal<long[]> MARK = ThreadLocal.withInitial(() -> new long[1]);

  @Override public void serialized(long ns, int bytes, Packet p) {
    Exchange x = Exchange.mine();
    x.serialization += ns;
    x.out = bytes;
  }

  @Override public void sending(Packet p) {}

  @Override public void sent(Packet p) {}

  @Override public void received(int bytes) {
    Exchange x = Exchange.mine();
    x.done = System.nanoTime();
    x.in = bytes;
  }

  @Override public void opened(long ns) {
    Exchange.mine().deserialization += ns;
  }

  @Override public void inward() {}

  @Override public void outward() {
    MARK.get()[0] = System.nanoTime();
  }
}
