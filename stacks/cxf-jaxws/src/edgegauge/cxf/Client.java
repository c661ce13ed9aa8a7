package edgegauge.cxf;

import edgegauge.adapter.Caller;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Setup;
import edgegauge.jaxb.*;
import edgegauge.jaxws.Port;
import java.util.Map;
import javax.xml.ws.BindingProvider;
import org.apache.cxf.frontend.ClientProxy;
import org.apache.cxf.jaxws.JaxWsProxyFactoryBean;
import org.apache.cxf.transport.http.HTTPConduit;

/** A proxy of CXF, on the JDK's java.net.http as CXF's default has it. */
final class Client implements Caller {
  private final Setup setup;
  private final Beans beans;
  private final boolean keep;
  private final Port port;
  private Message bound; // the request bean was made from
  private Bean bean;

  Client(Setup setup) throws Exception {
    this.setup = setup;
    beans = new Beans(setup.service, setup.encoding);
    keep = setup.connection.equals("keep-alive");
    port = open();
  }

  private Port open() throws Exception {
    JaxWsProxyFactoryBean f = new JaxWsProxyFactoryBean();
    f.setServiceClass(Port.class);
    f.setAddress(setup.url);
    f.setBindingId(CxfSoap.binding(setup));
    Hooks.install(f, setup, null);
    Security.install(f, setup, false);
    Port p = (Port) f.create();
    Map<String, Object> context = ((BindingProvider) p).getRequestContext();
    context.put(Transport.SHARED, false);
    context.put("org.apache.cxf.transport.process_fault_on_http_400", true); // SOAP 1.2's faults of the sender
    org.apache.cxf.endpoint.Client client = ClientProxy.getClient(p);
    Transport.client(client, (HTTPConduit) client.getConduit(), setup, Transport.trust(setup));
    return p;
  }

  @Override public Message call(Message m, Exchange x) throws Exception {
    if (bound != m) {
      bean = beans.request(m);
      bound = m;
    }
    Bean answer = ask();
    x.decoded();
    return beans.answer(answer);
  }

  /** The conduit makes another connection for the next request. */
  @Override public void finished() {
    if (!keep) ClientProxy.getClient(port).getConduit().close();
  }

  private Bean ask() {
    switch (setup.service) {
      case SORT: return port.sort((Sort) bean);
      case CONCAT: return port.concat((Concat) bean);
      case SUM: return port.sum((Sum) bean);
      case ECHO: return port.echo((Echo) bean);
      case TEMPERATURE: return port.temperature((Temperature) bean);
      case MONITOR: return port.monitor((Monitor) bean);
      case IO: return port.io((Io) bean);
      default: return port.memory((Memory) bean);
    }
  }
}
