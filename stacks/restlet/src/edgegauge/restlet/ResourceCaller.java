package edgegauge.restlet;

import edgegauge.adapter.Body;
import edgegauge.adapter.Caller;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Setup;
import edgegauge.adapter.TimedConnection;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.restlet.Client;
import org.restlet.Context;
import org.restlet.data.Protocol;
import org.restlet.representation.ByteArrayRepresentation;
import org.restlet.representation.Representation;
import org.restlet.resource.ClientResource;
import org.restlet.resource.ResourceException;

/** A client resource on Restlet's own connector; made once, asked again and again. */
final class ResourceCaller implements Caller {
  private final ClientResource resource;
  private final Format format;
  private final boolean hooks;

  ResourceCaller(Setup setup) throws Exception {
    format = Format.of(setup);
    hooks = setup.hooks;
    Client client = new Client(new Context(), Protocol.HTTP);
    String timeout = Integer.toString(setup.timeoutMillis());
    client.getContext().getParameters().add("readTimeout", timeout);
    client.getContext().getParameters().add("socketConnectTimeoutMs", timeout);
    client.start();
    resource = new ClientResource(setup.url);
    resource.setNext(client);
    resource.setRetryOnError(false);
    resource.setFollowingRedirects(false);
  }

  @Override public Message call(Message m, Exchange x) throws Exception {
    if (!hooks) return unhooked(m);
    ByteArrayOutputStream made = new ByteArrayOutputStream(1024);
    long t0 = System.nanoTime();
    format.request(m).write(made);
    x.serialization = System.nanoTime() - t0;
    x.out = made.size();
    byte[] answer = exchange(made.toByteArray(), x);
    x.in = answer.length;
    t0 = System.nanoTime();
    Message r = format.response(new ByteArrayRepresentation(answer, format.type(), answer.length));
    x.deserialization = System.nanoTime() - t0;
    return r;
  }

  private Message unhooked(Message m) throws IOException {
    return format.response(resource.post(format.request(m), format.type()));
  }

  /** A response that was read to its end is not released: that would close the connection, which is to be kept alive. */
  private byte[] exchange(byte[] request, Exchange x) throws IOException {
    Representation r = null;
    boolean whole = false;
    try {
      r = resource.post(new ByteArrayRepresentation(request, format.type(), request.length), format.type());
      byte[] b = r == null ? new byte[0] : Body.read(r.getStream(), r.getSize(), Integer.MAX_VALUE);
      x.done = System.nanoTime();
      whole = true;
      return b;
    } catch (ResourceException e) {
      if (!e.getStatus().isConnectorError() && e.getStatus().getCode() < 1000) x.done = System.nanoTime();
      throw new IOException(e.getStatus().getCode() < 1000 ? "HTTP " + e.getStatus() : e.getStatus().toString(), e);
    } finally {
      if (r != null && !whole) r.release();
    }
  }

  @Override public void finished() {
    TimedConnection.finish();
  }
}
