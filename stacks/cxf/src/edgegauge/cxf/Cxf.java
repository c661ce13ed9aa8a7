package edgegauge.cxf;

import edgegauge.adapter.Caller;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.Stack;
import edgegauge.jaxrs.JsonResource;
import edgegauge.jaxrs.Resource;
import edgegauge.jaxrs.XmlResource;
import org.apache.cxf.Bus;
import org.apache.cxf.BusFactory;
import org.apache.cxf.endpoint.Server;
import org.apache.cxf.jaxrs.JAXRSServerFactoryBean;
import org.apache.cxf.jaxrs.lifecycle.SingletonResourceProvider;

/** Apache CXF: JAX-RS on Jetty, XML by JAXB, JSON by Jackson. */
public final class Cxf extends Stack {
  private Server running;

  public Cxf() {
    super(new String[] {"xml", "json"}, new String[] {"none", "tls"}, new String[] {"http"});
    Transport.liftLimits();
  }

  @Override public String version() {
    return jarVersion(Bus.class);
  }

  @Override public String serve(Setup setup, Services services, ServerLog log) throws Exception {
    Bus bus = BusFactory.getDefaultBus();
    Resource resource = setup.encoding.equals("xml") ? new XmlResource(setup, services) : new JsonResource(setup, services);
    JAXRSServerFactoryBean f = new JAXRSServerFactoryBean();
    f.setBus(bus);
    f.setResourceClasses(resource.getClass());
    f.setResourceProvider(resource.getClass(), new SingletonResourceProvider(resource));
    f.setProvider(provider(setup, setup.hooks ? new ServerTiming(setup, log) : null));
    f.setAddress(Transport.address(bus, setup));
    if (running != null) running.destroy(); // whoever asks again means this one, at the same address
    running = f.create();
    return Transport.listening(bus, setup) + setup.service.name;
  }

  @Override public Caller call(Setup setup) throws Exception {
    return new Client(setup);
  }

  /** Whether the option coding packs bodies. */
  static boolean gzip(Setup setup) {
    String v = setup.option("coding", "identity");
    if (!v.equals("identity") && !v.equals("gzip")) throw new IllegalArgumentException("unknown coding \"" + v + "\"; supported: identity, gzip");
    return v.equals("gzip");
  }

  /** What makes bytes of beans; timing is null without hooks. */
  static Object provider(Setup setup, Timing timing) {
    return setup.encoding.equals("xml") ? new Xml(timing) : new Json(timing);
  }
}
