package edgegauge.jaxws;

import com.sun.xml.ws.api.message.Packet;
import com.sun.xml.ws.api.pipe.NextAction;
import com.sun.xml.ws.api.pipe.Tube;
import com.sun.xml.ws.api.pipe.TubeCloner;
import com.sun.xml.ws.api.pipe.helper.AbstractFilterTubeImpl;
import com.sun.xml.ws.assembler.dev.ClientTubelineAssemblyContext;
import com.sun.xml.ws.assembler.dev.ServerTubelineAssemblyContext;
import com.sun.xml.ws.assembler.dev.TubeFactory;
import edgegauge.adapter.ServerLog;

/**
 * The factory that metro.xml names: puts a clock before Metro's codec, and a tube between the others and the code that binds. Metro makes it by its name,
 * so what it shall tell stands in a static field.
 */
public final class Clock implements TubeFactory {
  static volatile Side side; // null: no hooks

  /** What is assembled from now on is a server's; without hooks if log is null. */
  public static void server(ServerLog log) {
    side = log == null ? null : new ServerSide(log);
  }

  /** What a side does at the hooks. */
  interface Side {
    /** A message has been written into memory, in ns. */
    void serialized(long ns, int bytes, Packet p);

    /** The message is about to be handed to the transport, or has been. */
    void sending(Packet p);

    void sent(Packet p);

    /** A message has been received whole. */
    void received(int bytes);

    /** Its head has been read, in ns; the body is bound later. */
    void opened(long ns);

    /** The packet passes the tube next to the binding. */
    void inward();

    void outward();
  }

  @Override public Tube createTube(ClientTubelineAssemblyContext c) {
    if (side == null) return c.getTubelineHead();
    c.setCodec(new TimedCodec(c.getCodec(), side));
    return new Mark(c.getTubelineHead(), side);
  }

  @Override public Tube createTube(ServerTubelineAssemblyContext c) {
    if (side == null) return c.getTubelineHead();
    c.setCodec(new TimedCodec(c.getCodec(), side));
    return new Mark(c.getTubelineHead(), side);
  }

  private static final class Mark extends AbstractFilterTubeImpl {
    private final Side side;

    Mark(Tube next, Side side) {
      super(next);
      this.side = side;
    }

    private Mark(Mark m, TubeCloner cloner) {
      super(m, cloner);
      side = m.side;
    }

    @Override public NextAction processRequest(Packet p) {
      side.inward();
      return doInvoke(next, p);
    }

    @Override public NextAction processResponse(Packet p) {
      side.outward();
      return doReturnWith(p);
    }

    @Override public Mark copy(TubeCloner cloner) {
      return new Mark(this, cloner);
    }
  }
}
