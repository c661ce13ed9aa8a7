package edgegauge.cxf;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.jaxrs.json.JacksonJsonProvider;
import edgegauge.adapter.Caller;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.Stack;
import edgegauge.adapter.Tls;
import edgegauge.jaxrs.JsonResource;
import edgegauge.jaxrs.Resource;
import edgegauge.jaxrs.XmlResource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.cxf.Bus;
import org.apache.cxf.BusFactory;
import org.apache.cxf.configuration.jsse.TLSServerParameters;
import org.apache.cxf.jaxrs.JAXRSServerFactoryBean;
import org.apache.cxf.jaxrs.lifecycle.SingletonResourceProvider;
import org.apache.cxf.transport.http_jetty.JettyHTTPServerEngine;
import org.apache.cxf.transport.http_jetty.JettyHTTPServerEngineFactory;
import org.eclipse.jetty.server.ServerConnector;

/** Apache CXF: JAX-RS on Jetty, XML by JAXB, JSON by Jackson. */
public final class Cxf extends Stack {
  public Cxf() {
    super(new String[] {"xml", "json"}, new String[] {"none", "tls"}, new String[] {"http"});
    // By default CXF refuses more than 50,000 children of an element, and sort has more; the body has a limit of its own.
    System.setProperty("org.apache.cxf.stax.maxChildElements", String.valueOf(Integer.MAX_VALUE));
  }

  @Override public String version() {
    return jarVersion(Bus.class);
  }

  @Override public String serve(Setup setup, Services services, ServerLog log) throws Exception {
    boolean tls = setup.security.equals("tls");
    Bus bus = BusFactory.getDefaultBus();
    JettyHTTPServerEngineFactory engines = bus.getExtension(JettyHTTPServerEngineFactory.class);
    if (tls) engines.setTLSServerParametersForPort(setup.port, parameters(setup));
    Resource resource = setup.encoding.equals("xml") ? new XmlResource(setup, services) : new JsonResource(setup, services);
    JAXRSServerFactoryBean f = new JAXRSServerFactoryBean();
    f.setBus(bus);
    f.setResourceClasses(resource.getClass());
    f.setResourceProvider(resource.getClass(), new SingletonResourceProvider(resource));
    List<Object> providers = providers(setup);
    if (hooked(setup)) providers.add(new ServerTiming(setup, log));
    f.setProviders(providers);
    String scheme = tls ? "https://" : "http://";
    f.setAddress(scheme + setup.urlHost() + ":" + setup.port + "/");
    f.create();
    JettyHTTPServerEngine engine = engines.retrieveJettyHTTPServerEngine(setup.port);
    int port = ((ServerConnector) engine.getConnector()).getLocalPort();
    return scheme + setup.urlHost() + ":" + port + "/" + setup.service.name;
  }

  @Override public Caller call(Setup setup) throws Exception {
    return new Client(setup);
  }

  /** Without hooks nothing is timed but a client's total, to see what the hooks cost. */
  static boolean hooked(Setup setup) {
    return setup.option("hooks", "on").equals("on");
  }

  /** What makes bytes of beans. */
  static List<Object> providers(Setup setup) {
    Object provider = setup.encoding.equals("xml") ? new Xml() : new JacksonJsonProvider(mapper());
    return new ArrayList<>(Arrays.asList(provider));
  }

  /** Jackson's defaults, but for what the contract asks: no value is made of another type's, nothing follows the object, other fields pass. */
  private static JsonMapper mapper() {
    return JsonMapper.builder().disable(MapperFeature.ALLOW_COERCION_OF_SCALARS).disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).disable(SerializationFeature.FAIL_ON_EMPTY_BEANS).build();
  }

  private static TLSServerParameters parameters(Setup setup) throws Exception {
    TLSServerParameters p = new TLSServerParameters();
    p.setKeyManagers(Tls.keys(setup));
    p.setSecureSocketProtocol(Tls.VERSION);
    p.setIncludeProtocols(Arrays.asList(Tls.VERSION));
    p.setSniHostCheck(false); // a client that asks for an address sends no name
    return p;
  }
}
