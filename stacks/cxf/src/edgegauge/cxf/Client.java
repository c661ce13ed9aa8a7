package edgegauge.cxf;

import edgegauge.adapter.Caller;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Setup;
import edgegauge.jaxb.Bean;
import edgegauge.jaxb.Beans;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import javax.net.ssl.TrustManager;
import javax.ws.rs.WebApplicationException;
import javax.ws.rs.core.HttpHeaders;
import org.apache.cxf.jaxrs.client.ClientConfiguration;
import org.apache.cxf.jaxrs.client.WebClient;

/** A WebClient of CXF, on the JDK's java.net.http as CXF's default has it. */
final class Client implements Caller {
  private final Setup setup;
  private final Beans beans;
  private final boolean keep;
  private final List<Object> providers; // kept: it knows the JAXB contexts
  private final TrustManager[] trust; // kept: a file is read before the first request, not between two
  private WebClient client;
  private Message bound; // the request bean was made from
  private Bean bean;

  Client(Setup setup) throws Exception {
    this.setup = setup;
    beans = new Beans(setup.service, setup.encoding);
    keep = setup.connection.equals("keep-alive");
    providers = Collections.singletonList(Cxf.provider(setup, setup.hooks ? new ClientTiming(setup) : null));
    trust = Transport.trust(setup);
    client = open();
  }

  private WebClient open() throws Exception {
    String type = "application/" + setup.encoding;
    WebClient c = WebClient.create(setup.url, providers).type(type).accept(type);
    if (Cxf.gzip(setup)) c.header(HttpHeaders.ACCEPT_ENCODING, "gzip");
    ClientConfiguration config = WebClient.getConfig(c);
    config.getRequestContext().put(Transport.SHARED, false);
    Transport.client(config, config.getHttpConduit(), setup, trust);
    return c;
  }

  @Override public Message call(Message m, Exchange x) throws Exception {
    if (bound != m) {
      bean = beans.request(m);
      bound = m;
    }
    if (client == null) {
      long t0 = System.nanoTime();
      client = open();
      x.connection = System.nanoTime() - t0;
    }
    try {
      Bean answer = client.post(bean, beans.responseClass());
      x.decoded();
      return beans.answer(answer);
    } catch (WebApplicationException e) {
      x.done = System.nanoTime();
      throw new IOException("HTTP " + e.getResponse().getStatus() + " " + e.getResponse().readEntity(String.class));
    }
  }

  /** CXF lets nobody send "Connection: close" by java.net.http: the connection ends with its client. */
  @Override public void finished() {
    if (keep || client == null) return;
    client.close();
    client = null;
  }
}
