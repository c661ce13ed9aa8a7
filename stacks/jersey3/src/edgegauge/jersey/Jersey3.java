package edgegauge.jersey;

import edgegauge.adapter.Caller;
import edgegauge.adapter.JdkHttp;
import edgegauge.adapter.Offer;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.Stack;
import edgegauge.adapter.TimedConnection;
import edgegauge.compact.Form;
import edgegauge.compact.Parsers;
import edgegauge.jaxrs.JsonResource;
import edgegauge.jaxrs.XmlResource;
import org.glassfish.grizzly.http.server.HttpServer;
import org.glassfish.grizzly.http.server.NetworkListener;
import org.glassfish.jersey.grizzly2.httpserver.GrizzlyHttpContainer;
import org.glassfish.jersey.jackson.JacksonFeature;
import org.glassfish.jersey.server.ContainerFactory;
import org.glassfish.jersey.server.ResourceConfig;

/** Jersey 3: JAX-RS on Grizzly; protobuf by the entity provider of ../jersey, XML by its JAXB module, JSON by its Jackson module, EXI and Fast Infoset by {@link CompactProvider}. */
public final class Jersey3 extends Stack {
  public Jersey3() {
    super(
        new Offer(new String[] {"protobuf", "xml", "json"}, new String[] {"none"}, new String[] {"http"}),
        new Offer(new String[] {"xml-gzip", "fastinfoset", "exi", "exi-compressed", "exi-schema", "exi-schema-compressed"}, new String[] {"none"}, new String[] {"http"}, "keep-alive"));
    Parsers.keep();
  }

  /** The form of a compact encoding, null for the others. */
  static Form compact(Setup setup) {
    if (!Form.compact(setup.encoding)) return null;
    if (!setup.hooks) throw new IllegalArgumentException("hooks: off is not for " + setup.encoding + ", whose limits are at the hooks; use xml");
    return Form.of(setup.encoding, setup.bodyLimit);
  }

  @Override public String version() {
    return jarVersion(ResourceConfig.class);
  }

  @Override public String serve(Setup setup, Services services, ServerLog log) throws Exception {
    ResourceConfig config = new ResourceConfig();
    Form form = compact(setup);
    switch (setup.encoding) {
      case "protobuf":
        config.register(new ServerProtobuf(setup, log)).register(new Resource(setup, services));
        break;
      case "xml":
      case "xml-gzip":
        config.register(new Strict.Xml()).register(new XmlResource(setup, services));
        break;
      case "json":
        config.register(new Strict.Json()).register(JacksonFeature.class).register(new JsonResource(setup, services));
        break;
      default:
        config.register(new CompactProvider(form)).register(new CompactResource(setup, services));
    }
    if (setup.hooks && !setup.encoding.equals("protobuf")) config.register(new BeanTiming(setup, form, log));
    // What GrizzlyHttpServerFactory does, but for limits: by default Grizzly closes a connection after 256 requests, and one on which nothing is asked for 30 s.
    HttpServer server = new HttpServer();
    NetworkListener listener = new NetworkListener("grizzly", setup.host, setup.port);
    listener.getKeepAlive().setMaxRequestsCount(Integer.MAX_VALUE);
    listener.getKeepAlive().setIdleTimeoutInSeconds(JdkHttp.DAY);
    server.addListener(listener);
    server.getServerConfiguration().addHttpHandler(ContainerFactory.createContainer(GrizzlyHttpContainer.class, config), "/");
    server.start();
    return "http://" + setup.urlHost() + ":" + listener.getPort() + "/" + setup.service.name;
  }

  @Override public Caller call(Setup setup) {
    TimedConnection.settings(setup); // Jersey's client stands on the JDK's HttpURLConnection
    return new Jersey3Caller(setup);
  }
}
