package edgegauge.restlet;

import edgegauge.adapter.Caller;
import edgegauge.adapter.JdkHttp;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.Stack;
import edgegauge.adapter.TimedConnection;
import org.restlet.Application;
import org.restlet.Component;
import org.restlet.Request;
import org.restlet.Response;
import org.restlet.Restlet;
import org.restlet.Server;
import org.restlet.data.Protocol;
import org.restlet.resource.Finder;
import org.restlet.resource.ServerResource;
import org.restlet.routing.Router;

/** Restlet: a component with one application, XML by its JAXB extension, JSON by its JSON extension, on its own connectors. */
public final class RestletStack extends Stack {
  private boolean timed;

  public RestletStack() {
    super(new String[] {"xml", "json"}, new String[] {"none"}, new String[] {"http"});
  }

  @Override public String version() {
    return jarVersion(Component.class);
  }

  @Override public String serve(Setup setup, Services services, ServerLog log) throws Exception {
    JdkHttp.server(); // which is behind Restlet's
    Component component = new Component();
    component.getLogService().setEnabled(false); // it would write a line for each request
    Server server = component.getServers().add(Protocol.HTTP, setup.host, setup.port);
    Format format = Format.of(setup);
    component.getDefaultHost().attach(new Application() {
      @Override public Restlet createInboundRoot() {
        Router router = new Router(getContext());
        router.attach("/" + setup.service.name, new Finder(getContext()) {
          @Override public ServerResource find(Request request, Response response) {
            return new Resource(setup, services, log, format);
          }
        });
        return router;
      }
    });
    component.start();
    return "http://" + setup.urlHost() + ":" + (setup.port != 0 ? setup.port : server.getEphemeralPort()) + "/" + setup.service.name;
  }

  @Override public Caller call(Setup setup) throws Exception {
    TimedConnection.settings(setup); // Restlet's client stands on the JDK's HttpURLConnection
    if (!timed && setup.hooks) TimedConnection.everywhere(); // Restlet opens its connections itself
    timed |= setup.hooks;
    return new ResourceCaller(setup);
  }
}
