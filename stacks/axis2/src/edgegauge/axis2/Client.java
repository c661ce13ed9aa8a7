package edgegauge.axis2;

import edgegauge.adapter.Body;
import edgegauge.adapter.Caller;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Service;
import edgegauge.adapter.Setup;
import java.io.InputStream;
import java.io.OutputStream;
import org.apache.axiom.om.OMAbstractFactory;
import org.apache.axiom.om.OMElement;
import org.apache.axiom.om.OMFactory;
import org.apache.axiom.om.OMXMLParserWrapper;
import org.apache.axiom.soap.SOAP12Constants;
import org.apache.axis2.Constants;
import org.apache.axis2.addressing.EndpointReference;
import org.apache.axis2.client.Options;
import org.apache.axis2.client.ServiceClient;
import org.apache.axis2.context.MessageContext;
import org.apache.axis2.databinding.ADBBean;
import javax.xml.namespace.QName;

/** A ServiceClient that does what the stub of WSDL2Java does, so that each step can be timed. */
final class Client implements Caller, Hooks.Side {
  private final Setup setup;
  private final ServiceClient client;
  private final OMFactory factory = OMAbstractFactory.getOMFactory();
  private final QName name;
  private Message bound; // the request bean was made from
  private ADBBean bean;

  Client(Setup setup) throws Exception {
    this.setup = setup;
    name = new QName(Binding.NAMESPACE, setup.service.name);
    client = new ServiceClient(Axis2.context(), null);
    if (setup.hooks) Hooks.install(client.getAxisConfiguration(), this);
    client.setOptions(options());
  }

  private Options options() {
    Options o = new Options();
    o.setTo(new EndpointReference(setup.url));
    o.setAction(Binding.NAMESPACE + "/" + setup.service.name);
    o.setTimeOutInMilliSeconds(setup.timeoutMillis());
    Connections.set(o, setup);
    switch (setup.encoding) {
      case "soap12":
        o.setSoapVersionURI(SOAP12Constants.SOAP_ENVELOPE_NAMESPACE_URI);
        o.setProperty(Constants.Configuration.MESSAGE_TYPE, "application/soap+xml"); // else Axis2 takes a formatter that no hook sees
        break;
      case "xml":
        o.setProperty(Constants.Configuration.ENABLE_REST, Constants.VALUE_TRUE);
        o.setProperty(Constants.Configuration.MESSAGE_TYPE, "application/xml");
        break;
      default:
        o.setProperty(Constants.Configuration.MESSAGE_TYPE, "text/xml");
    }
    return o;
  }

  @Override public Message call(Message m, Exchange x) throws Exception {
    if (bound != m) {
      bean = Beans.request(setup.service, m);
      bound = m;
    }
    Object answer = setup.hooks ? timed(x) : unhooked();
    x.decoded();
    return Beans.answer(setup.service, answer);
  }

  private Object timed(Exchange x) throws Exception {
    long t0 = System.nanoTime();
    OMElement request = bean.getOMElement(name, factory);
    x.serialization += System.nanoTime() - t0;
    OMElement response = client.sendReceive(request);
    t0 = System.nanoTime();
    OMXMLParserWrapper builder = response.getBuilder();
    Object answer = Beans.parse(setup.service, response.getXMLStreamReaderWithoutCaching());
    Tail.read(builder);
    x.deserialization += System.nanoTime() - t0;
    return answer;
  }

  /** The stub's steps and no more. */
  private Object unhooked() throws Exception {
    OMElement response = client.sendReceive(bean.getOMElement(name, factory));
    return Beans.parse(setup.service, response.getXMLStreamReaderWithoutCaching());
  }

  /**
   * Closes the connection, or puts it back to be kept. Subtle: Axis2 1.6 writes a decimal by BigDecimal.toString, which keeps its text, so that only the
   * first request would convert it; the next one gets decimals of its own.
   */
  @Override public void finished() throws Exception {
    client.cleanupTransport();
    TimedSocket.finish();
    if (setup.service == Service.SUM || setup.service == Service.MONITOR) bean = Beans.request(setup.service, bound);
  }

  @Override public byte[] receive(InputStream in, MessageContext m) throws Exception {
    byte[] b = Body.read(in, -1, Integer.MAX_VALUE);
    Exchange x = Exchange.mine();
    x.done = System.nanoTime();
    x.in = b.length;
    return b;
  }

  @Override public void opened(long ns, MessageContext m) {
    Exchange.mine().deserialization += ns;
  }

  @Override public void serialized(long ns, int bytes, MessageContext m) {
    Exchange x = Exchange.mine();
    x.serialization += ns;
    x.out = bytes;
  }

  @Override public void send(byte[] message, OutputStream out, MessageContext m) throws Exception {
    out.write(message);
  }
}
