package edgegauge.axis2;

import edgegauge.adapter.Caller;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.Stack;
import org.apache.axis2.context.ConfigurationContext;
import org.apache.axis2.context.ConfigurationContextFactory;
import org.apache.axis2.engine.AxisConfiguration;
import org.apache.axis2.transport.http.SimpleHTTPServer;

/** Apache Axis2: SOAP 1.1, SOAP 1.2 and plain XML from one service, bound by ADB, on Axis2's own HTTP server. */
public final class Axis2 extends Stack {
  public Axis2() {
    super(new String[] {"soap11", "soap12", "xml"}, new String[] {"none"}, new String[] {"http"});
  }

  @Override public String version() {
    return jarVersion(AxisConfiguration.class);
  }

  @Override public String serve(Setup setup, Services services, ServerLog log) throws Exception {
    ConfigurationContext context = context();
    context.getAxisConfiguration().addService(Binding.service(setup, services));
    if (setup.hooks) Hooks.install(context.getAxisConfiguration(), new SocketHook(setup, log));
    Listener.Factory factory = new Listener.Factory(context, setup);
    new SimpleHTTPServer(factory).start();
    return "http://" + setup.urlHost() + ":" + factory.port() + path(setup);
  }

  /** Without SOAP the operation is named by the path. */
  static String path(Setup setup) {
    return "/axis2/services/Services" + (setup.encoding.equals("xml") ? "/" + setup.service.name : "");
  }

  @Override public Caller call(Setup setup) throws Exception {
    return new Client(setup);
  }

  /** The configuration in Axis2's own jar. */
  static ConfigurationContext context() throws Exception {
    return ConfigurationContextFactory.createConfigurationContextFromFileSystem(null, null);
  }
}
