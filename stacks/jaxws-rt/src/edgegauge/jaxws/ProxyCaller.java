package edgegauge.jaxws;

import edgegauge.adapter.Caller;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Setup;
import edgegauge.adapter.TimedConnection;
import edgegauge.jaxb.*;
import java.util.Map;
import javax.xml.namespace.QName;
import javax.xml.ws.BindingProvider;
import javax.xml.ws.Service;

/** A client's proxy of the service's interface, with a clock where binding ends. */
final class ProxyCaller implements Caller {
  private final Setup setup;
  private final Port port;
  private final Beans beans;
  private Message bound; // the request bean was made from
  private edgegauge.jaxb.Bean bean;

  ProxyCaller(Setup setup) {
    this.setup = setup;
    beans = new Beans(setup.service, "xml");
    Service service = Service.create(ProxyCaller.class.getResource("/services.wsdl"), new QName(Port.NAMESPACE, "Services"));
    port = service.getPort(new QName(Port.NAMESPACE, setup.encoding.equals("soap12") ? "Port12" : "Port11"), Port.class);
    Map<String, Object> context = ((BindingProvider) port).getRequestContext();
    context.put("com.sun.xml.ws.connect.timeout", setup.timeoutMillis());
    context.put("com.sun.xml.ws.request.timeout", setup.timeoutMillis());
    context.put(BindingProvider.ENDPOINT_ADDRESS_PROPERTY, setup.url);
  }

  @Override public Message call(Message m, Exchange x) throws Exception {
    if (bound != m) {
      bean = beans.request(m);
      bound = m;
    }
    Object answer = invoke();
    if (setup.hooks) x.deserialization += System.nanoTime() - ClientSide.MARK.get()[0];
    x.decoded();
    return beans.answer(answer);
  }

  private Object invoke() {
    switch (setup.service) {
      case SORT:
        return port.sort((Sort) bean);
      case CONCAT:
        return port.concat((Concat) bean);
      case SUM:
        return port.sum((Sum) bean);
      case ECHO:
        return port.echo((Echo) bean);
      case TEMPERATURE:
        return port.temperature((Temperature) bean);
      case MONITOR:
        return port.monitor((Monitor) bean);
      case IO:
        return port.io((Io) bean);
      default:
        return port.memory((Memory) bean);
    }
  }

  @Override public void finished() {
    TimedConnection.finish();
  }
}
