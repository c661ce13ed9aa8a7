package edgegauge.jaxws;

import com.sun.net.httpserver.HttpContext;
import com.sun.net.httpserver.HttpServer;
import edgegauge.adapter.Caller;
import edgegauge.adapter.JdkHttp;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.Stack;
import edgegauge.adapter.TimedConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import javax.xml.ws.Endpoint;
import javax.xml.ws.soap.SOAPBinding;

/** Metro, the reference implementation of JAX-WS, on the JDK's HTTP server; and a plain handler for raw text on the same server. */
public final class JaxWs extends Stack {
  private boolean timed;

  public JaxWs() {
    super(new String[] {"soap11", "soap12", "text"}, new String[] {"none"}, new String[] {"http"});
  }

  @Override public String version() {
    return jarVersion(com.sun.xml.ws.util.Version.class);
  }

  @Override public String serve(Setup setup, Services services, ServerLog log) throws Exception {
    JdkHttp.server();
    // What Endpoint.publish does with a URL, but for the port, which it must be told.
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getByName(setup.host), setup.port), 0);
    server.setExecutor(Executors.newCachedThreadPool());
    String path = "/" + setup.service.name;
    HttpContext context = server.createContext(path);
    if (setup.hooks) context.getFilters().add(new Gate(setup, path));
    if (setup.encoding.equals("text")) {
      context.setHandler(new PlainHandler(setup, services, log));
    } else {
      Clock.server(setup.hooks ? log : null);
      Endpoint.create(binding(setup), new Published(setup, services)).publish(context);
    }
    server.start();
    return "http://" + setup.urlHost() + ":" + server.getAddress().getPort() + path;
  }

  static String binding(Setup setup) {
    return setup.encoding.equals("soap12") ? SOAPBinding.SOAP12HTTP_BINDING : SOAPBinding.SOAP11HTTP_BINDING;
  }

  @Override public Caller call(Setup setup) throws Exception {
    TimedConnection.settings(setup); // Metro's client stands on the JDK's HttpURLConnection
    if (setup.encoding.equals("text")) return new PlainCaller(setup);
    Clock.side = setup.hooks ? new ClientSide() : null;
    if (!timed && setup.hooks) TimedConnection.everywhere(); // Metro opens its connections itself
    timed |= setup.hooks;
    return new ProxyCaller(setup);
  }
}
