package edgegauge.jersey;

import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Setup;
import java.io.IOException;
import javax.ws.rs.Consumes;
import javax.ws.rs.Produces;
import javax.ws.rs.ext.Provider;

/** The client's end of {@link Entity}. */
@Provider
@Consumes(Entity.TYPE)
@Produces(Entity.TYPE)
public final class ClientProtobuf extends Entity {
  ClientProtobuf(Setup setup) {
    super(setup);
  }

  @Override byte[] encode(Message m) {
    return codec.request(m);
  }

  @Override Message decode(byte[] b) throws IOException {
    return codec.response(b);
  }

  @Override void received(Exchange x) {
    x.done = System.nanoTime();
  }
}
