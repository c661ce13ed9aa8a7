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
import edgegauge.jaxrs.JsonResource;
import edgegauge.jaxrs.Resource;
import edgegauge.jaxrs.XmlResource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
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
    List<Object> providers = providers(setup);
    if (setup.hooks) providers.add(new ServerTiming(setup, log));
    f.setProviders(providers);
    f.setAddress(Transport.address(bus, setup));
    if (running != null) running.destroy(); // whoever asks again means this one, at the same address
    running = f.create();
    return Transport.listening(bus, setup) + setup.service.name;
  }

  @Override public Caller call(Setup setup) throws Exception {
    return new Client(setup);
  }

  /** What makes bytes of beans. */
  static List<Object> providers(Setup setup) {
    Object provider = setup.encoding.equals("xml") ? new Xml() : new JacksonJsonProvider(mapper());
    return new ArrayList<>(Arrays.asList(provider));
  }

  /** Jackson's defaults, but for what the contract asks: no value is made of another type's, nothing follows the object, other fields pass. */
  private static JsonMapper mapper() {
    return JsonMapper.builder().disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
        .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, DeserializationFeature.ACCEPT_FLOAT_AS_INT)
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).disable(SerializationFeature.FAIL_ON_EMPTY_BEANS).build();
  }
}
