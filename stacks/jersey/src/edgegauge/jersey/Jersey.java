package edgegauge.jersey;

import com.sun.jersey.api.client.config.ClientConfig;
import com.sun.jersey.api.client.config.DefaultClientConfig;
import com.sun.jersey.api.container.ContainerFactory;
import com.sun.jersey.api.core.DefaultResourceConfig;
import com.sun.jersey.api.json.JSONConfiguration;
import edgegauge.adapter.Caller;
import edgegauge.adapter.JdkHttp;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.Stack;
import edgegauge.adapter.TimedConnection;
import edgegauge.jaxrs.JsonResource;
import edgegauge.jaxrs.XmlResource;
import java.util.Map;
import java.util.Set;
import org.glassfish.grizzly.http.server.HttpHandler;
import org.glassfish.grizzly.http.server.HttpServer;
import org.glassfish.grizzly.http.server.NetworkListener;

/** Jersey 1: JAX-RS on Grizzly; protobuf by an entity provider, as its users write one, XML by its provider for JAXB, JSON by its POJO mapping. */
public final class Jersey extends Stack {
  public Jersey() {
    super(new String[] {"protobuf", "xml", "json"}, new String[] {"none"}, new String[] {"http"});
  }

  @Override public String version() {
    return jarVersion(DefaultResourceConfig.class);
  }

  @Override public String serve(Setup setup, Services services, ServerLog log) throws Exception {
    DefaultResourceConfig config = new DefaultResourceConfig();
    if (setup.encoding.equals("protobuf")) {
      config.getSingletons().add(new ServerProtobuf(setup, log));
      config.getSingletons().add(new Resource(setup, services));
    } else {
      beans(config.getSingletons(), config.getFeatures(), setup, log);
      config.getSingletons().add(setup.encoding.equals("xml") ? new XmlResource(setup, services) : new JsonResource(setup, services));
    }
    // What GrizzlyServerFactory does, but for limits: by default Grizzly closes a connection after 256 requests, and one on which nothing is asked for 30 s.
    HttpServer server = new HttpServer();
    NetworkListener listener = new NetworkListener("grizzly", setup.host, setup.port);
    listener.getKeepAlive().setMaxRequestsCount(Integer.MAX_VALUE);
    listener.getKeepAlive().setIdleTimeoutInSeconds(JdkHttp.DAY);
    server.addListener(listener);
    server.getServerConfiguration().addHttpHandler(ContainerFactory.createContainer(HttpHandler.class, config), "/");
    server.start();
    return "http://" + setup.urlHost() + ":" + listener.getPort() + "/" + setup.service.name;
  }

  @Override public Caller call(Setup setup) throws Exception {
    TimedConnection.settings(setup); // Jersey's client stands on the JDK's HttpURLConnection
    ClientConfig config = new DefaultClientConfig();
    if (setup.encoding.equals("protobuf")) config.getSingletons().add(new ClientProtobuf(setup));
    else beans(config.getSingletons(), config.getFeatures(), setup, null);
    config.getProperties().put(ClientConfig.PROPERTY_CONNECT_TIMEOUT, setup.timeoutMillis());
    config.getProperties().put(ClientConfig.PROPERTY_READ_TIMEOUT, setup.timeoutMillis());
    return new JerseyCaller(setup, config);
  }

  /** Without hooks Jersey's own providers take the beans. */
  private static void beans(Set<Object> providers, Map<String, Boolean> features, Setup setup, ServerLog log) throws Exception {
    features.put(JSONConfiguration.FEATURE_POJO_MAPPING, true);
    JsonFormat json = new JsonFormat();
    if (setup.hooks) providers.add(new BeanEntity(setup, setup.encoding.equals("xml") ? new XmlFormat() : json, log));
    else if (setup.encoding.equals("json")) providers.add(json);
  }
}
