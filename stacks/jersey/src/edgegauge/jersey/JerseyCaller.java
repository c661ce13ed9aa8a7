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
import edgegauge.adapter.TimedConnection;
import edgegauge.jaxb.Beans;
import java.io.IOException;

/** A Jersey client on the JDK's connections; the entity providers and TimedConnection keep the clock. */
final class JerseyCaller implements Caller {
  private final WebResource resource;
  private final String type;
  private final Beans beans; // null: protobuf, whose provider takes the values themselves
  private Message bound;     // the request bean was made from
  private Object bean;

  JerseyCaller(Setup setup, ClientConfig config) {
    URLConnectionClientHandler connections = setup.hooks ? new URLConnectionClientHandler(TimedConnection::new) : new URLConnectionClientHandler();
    resource = new Client(connections, config).resource(setup.url);
    boolean protobuf = setup.encoding.equals("protobuf");
    type = protobuf ? Entity.TYPE : "application/" + setup.encoding;
    beans = protobuf ? null : new Beans(setup.service, setup.encoding);
  }

  @Override public Message call(Message m, Exchange x) throws Exception {
    if (bound != m) {
      bean = beans == null ? m : beans.request(m);
      bound = m;
    }
    ClientResponse r = resource.type(type).accept(type).post(ClientResponse.class, bean);
    try {
      if (r.getStatus() == 200) {
        Class<?> kind = beans == null ? Message.class : beans.responseClass();
        Object answer = r.getEntity(kind);
        x.decoded();
        return beans == null ? (Message) answer : beans.answer(answer);
      }
      x.done = System.nanoTime();
      throw new IOException("HTTP " + r.getStatus() + " " + r.getEntity(String.class));
    } finally {
      r.close();
    }
  }

  @Override public void finished() {
    TimedConnection.finish();
  }
}
