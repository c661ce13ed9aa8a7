package edgegauge.jersey;

import edgegauge.adapter.Caller;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Setup;
import edgegauge.adapter.TimedConnection;
import edgegauge.compact.Form;
import edgegauge.jaxb.Beans;
import jakarta.ws.rs.client.Client;
import jakarta.ws.rs.client.ClientBuilder;
import jakarta.ws.rs.client.Entity;
import jakarta.ws.rs.client.WebTarget;
import jakarta.ws.rs.core.Response;
import java.io.IOException;
import org.glassfish.jersey.client.ClientConfig;
import org.glassfish.jersey.client.ClientProperties;
import org.glassfish.jersey.client.HttpUrlConnectorProvider;
import org.glassfish.jersey.jackson.JacksonFeature;

/** A Jersey client on the JDK's connections; the entity provider or {@link BeanTiming}, and TimedConnection, keep the clock. */
final class Jersey3Caller implements Caller {
  private final WebTarget target;
  private final String type;
  private final Beans beans; // null: protobuf, whose provider takes the values themselves
  private Message bound;     // the request bean was made from
  private Object bean;

  Jersey3Caller(Setup setup) {
    ClientConfig config = new ClientConfig();
    if (setup.hooks) config.connectorProvider(new HttpUrlConnectorProvider().connectionFactory(TimedConnection::new));
    config.property(ClientProperties.CONNECT_TIMEOUT, setup.timeoutMillis()).property(ClientProperties.READ_TIMEOUT, setup.timeoutMillis());
    if (setup.encoding.equals("protobuf")) {
      config.register(new ClientProtobuf(setup));
      type = edgegauge.jersey.Entity.TYPE;
      beans = null;
    } else {
      Form form = Jersey3.compact(setup);
      if (setup.hooks) config.register(new BeanTiming(setup, form, null));
      if (setup.encoding.equals("json")) config.register(JacksonFeature.class).register(new Strict.Json());
      else if (form == null || form.gzipped()) config.register(new Strict.Xml());
      else config.register(new CompactProvider(form));
      type = form != null ? form.media(false) : "application/" + setup.encoding;
      beans = new Beans(setup.service, setup.encoding);
    }
    Client client = ClientBuilder.newClient(config);
    target = client.target(setup.url);
  }

  @Override public Message call(Message m, Exchange x) throws Exception {
    if (bound != m) {
      bean = beans == null ? m : beans.request(m);
      bound = m;
    }
    try (Response r = target.request(type).post(Entity.entity(bean, type))) {
      if (r.getStatus() == 200) {
        Class<?> kind = beans == null ? Message.class : beans.responseClass();
        Object answer = r.readEntity(kind);
        x.decoded();
        return beans == null ? (Message) answer : beans.answer(answer);
      }
      x.done = System.nanoTime();
      throw new IOException("HTTP " + r.getStatus() + " " + r.readEntity(String.class));
    }
  }

  @Override public void finished() {
    TimedConnection.finish();
  }
}
