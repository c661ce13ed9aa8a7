package edgegauge.jaxws;

import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import javax.jws.WebService;

/** What Endpoint.publish publishes, in either version of SOAP. */
@WebService(endpointInterface = "edgegauge.jaxws.Port", targetNamespace = Port.NAMESPACE, serviceName = "Services", portName = "Port")
public final class Published extends Implementation {
  Published(Setup setup, Services services) {
    super(setup, services);
  }
}
