package edgegauge.axis2;

import edgegauge.adapter.Caller;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.Stack;
import javax.xml.namespace.QName;
import org.apache.axis2.context.ConfigurationContext;
import org.apache.axis2.context.ConfigurationContextFactory;
import org.apache.axis2.description.AxisOperation;
import org.apache.axis2.description.AxisService;
import org.apache.axis2.description.InOutAxisOperation;
import org.apache.axis2.engine.AxisConfiguration;
import org.apache.axis2.transport.http.SimpleHTTPServer;

/** Apache Axis2: SOAP 1.1, SOAP 1.2 and plain XML from one service, bound by ADB, on Axis2's own HTTP server. */
public final class Axis2 extends Stack {
  static final String NAMESPACE = "urn:edgegauge:services:1";

  public Axis2() {
    super(new String[] {"soap11", "soap12", "xml"}, new String[] {"none"}, new String[] {"http"});
  }

  @Override public String version() {
    return jarVersion(AxisConfiguration.class);
  }

  @Override public String serve(Setup setup, Services services, ServerLog log) throws Exception {
    ConfigurationContext context = context();
    context.getAxisConfiguration().addService(service(setup, services));
    if (setup.hooks) Hooks.install(context.getAxisConfiguration(), new ServerHook(setup, log));
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

  private static AxisService service(Setup setup, Services services) throws Exception {
    AxisService service = new AxisService("Services");
    service.setTargetNamespace(NAMESPACE);
    AxisOperation operation = new InOutAxisOperation(new QName(NAMESPACE, setup.service.name));
    operation.setMessageReceiver(new Receiver(setup, services));
    service.addOperation(operation);
    service.mapActionToOperation(NAMESPACE + "/" + setup.service.name, operation);
    service.addMessageElementQNameToOperationMapping(operation.getName(), operation);
    return service;
  }
}
