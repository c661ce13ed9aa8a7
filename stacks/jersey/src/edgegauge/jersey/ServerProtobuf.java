package edgegauge.jersey;

import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Setup;
import edgegauge.adapter.TooLarge;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.annotation.Annotation;
import java.lang.reflect.Type;
import javax.ws.rs.Consumes;
import javax.ws.rs.Produces;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.core.MultivaluedMap;
import javax.ws.rs.ext.Provider;

/** The server's end of {@link Entity}: what it cannot read is the client's fault. */
@Provider
@Consumes(Entity.TYPE)
@Produces(Entity.TYPE)
public final class ServerProtobuf extends Entity {
  private final ServerLog log;

  ServerProtobuf(Setup setup, ServerLog log) {
    super(setup);
    this.log = log;
  }

  @Override public void writeTo(Message m, Class<?> c, Type t, Annotation[] a, MediaType mt, MultivaluedMap<String, Object> h, OutputStream out)
      throws IOException {
    if (!setup.hooks) {
      super.writeTo(m, c, t, a, mt, h, out);
      return;
    }
    log.sending();
    try {
      super.writeTo(m, c, t, a, mt, h, out);
    } finally {
      log.sent(Exchange.mine());
    }
  }

  @Override public Message readFrom(Class<Message> c, Type t, Annotation[] a, MediaType mt, MultivaluedMap<String, String> h, InputStream in) {
    try {
      return super.readFrom(c, t, a, mt, h, in);
    } catch (TooLarge e) {
      throw Refusal.of(413, e);
    } catch (IOException | IllegalArgumentException e) {
      throw Refusal.of(400, e);
    }
  }

  @Override byte[] encode(Message m) {
    return codec.response(m);
  }

  @Override Message decode(byte[] b) throws IOException {
    return codec.request(b);
  }

  @Override void received(Exchange x) {
    x.begin();
  }
}
