package edgegauge.glassfish;

import edgegauge.jaxws.Implementation;
import edgegauge.jaxws.Port;
import jakarta.jws.WebService;

/** The JAX-WS endpoint of ../jaxws-rt, made by the server. */
@WebService(endpointInterface = "edgegauge.jaxws.Port", targetNamespace = Port.NAMESPACE, serviceName = "Services", portName = "Port")
public class Soap11 extends Implementation {
  public Soap11() {
    super(Hosted.setup, Hosted.services);
  }
}
