package edgegauge.glassfish;

import edgegauge.jaxws.Implementation;
import edgegauge.jaxws.Port;
import jakarta.jws.WebService;
import jakarta.xml.ws.BindingType;
import jakarta.xml.ws.soap.SOAPBinding;

/** {@link Soap11} in SOAP 1.2. */
@WebService(endpointInterface = "edgegauge.jaxws.Port", targetNamespace = Port.NAMESPACE, serviceName = "Services", portName = "Port")
@BindingType(SOAPBinding.SOAP12HTTP_BINDING)
public class Soap12 extends Implementation {
  public Soap12() {
    super(Hosted.setup, Hosted.services);
  }
}
