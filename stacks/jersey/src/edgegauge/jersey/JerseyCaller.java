package edgegauge.jersey;

import com.sun.jersey.api.client.Client;
import com.sun.jersey.api.client.ClientResponse;
import com.sun.jersey.api.client.WebResource;
import com.sun.jersey.api.client.config.ClientConfig;
import com.sun.jersey.client.urlconnection.URLConnectionClientHandler;
import edgegauge.adapter.Caller;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Setup;
import java.io.IOException;

/** A Jersey client on the JDK's connections; {@link Entity} and {@link TimedConnection} keep the clock. */
final class JerseyCaller implements Caller {
  private final WebResource resource;

  JerseyCaller(Setup setup, ClientConfig config) {
    resource = new Client(new URLConnectionClientHandler(TimedConnection::new), config).resource(setup.url);
  }

  @Override public Message call(Message m, Exchange x) throws Exception {
    ClientResponse r = resource.type(Entity.TYPE).accept(Entity.TYPE).post(ClientResponse.class, m);
    try {
      if (r.getStatus() == 200) return r.getEntity(Message.class);
      x.done = System.nanoTime();
      throw new IOException("HTTP " + r.getStatus() + " " + r.getEntity(String.class));
    } finally {
      r.close();
    }
  }
}
