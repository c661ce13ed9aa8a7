package edgegauge.cxf;

import edgegauge.adapter.Caller;
import edgegauge.adapter.Offer;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.Stack;
import edgegauge.compact.Parsers;
import javax.xml.ws.soap.SOAPBinding;
import org.apache.cxf.Bus;
import org.apache.cxf.BusFactory;
import org.apache.cxf.endpoint.Server;
import org.apache.cxf.jaxws.JaxWsServerFactoryBean;

/** Apache CXF: JAX-WS on Jetty, plain, over TLS, or with WS-Security by WSS4J. */
public final class CxfSoap extends Stack {
  private static final String PATH = "services";

  private Server running;

  public CxfSoap() {
    super(
        new Offer(new String[] {"soap11", "soap12"}, new String[] {"none", "tls", "wss-username", "wss-rsa", "wss-rsa-encrypt"}, new String[] {"http"}),
        new Offer(new String[] {"soap12-gzip", "soap12-fastinfoset", "soap12-exi", "soap12-exi-compressed", "soap12-exi-schema", "soap12-exi-schema-compressed"}, new String[] {"none"}, new String[] {"http"}, "keep-alive"));
    Transport.liftLimits();
    Parsers.keep();
  }

  @Override public String version() {
    return jarVersion(Bus.class);
  }

  static String binding(Setup setup) {
    return setup.encoding.startsWith("soap12") ? SOAPBinding.SOAP12HTTP_BINDING : SOAPBinding.SOAP11HTTP_BINDING;
  }

  @Override public String serve(Setup setup, Services services, ServerLog log) throws Exception {
    Bus bus = BusFactory.getDefaultBus();
    JaxWsServerFactoryBean f = new JaxWsServerFactoryBean();
    f.setBus(bus);
    f.setServiceBean(new Skeleton(setup, services));
    f.setBindingId(binding(setup));
    f.setAddress(Transport.address(bus, setup) + PATH);
    Hooks.install(f, setup, log);
    Security.install(f, setup, true);
    if (running != null) running.destroy(); // whoever asks again means this one, at the same address
    running = f.create();
    return Transport.listening(bus, setup) + PATH;
  }

  @Override public Caller call(Setup setup) throws Exception {
    return new Client(setup);
  }
}
