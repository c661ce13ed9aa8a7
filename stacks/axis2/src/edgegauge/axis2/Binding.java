package edgegauge.axis2;

import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import javax.xml.namespace.QName;
import org.apache.axis2.description.AxisOperation;
import org.apache.axis2.description.AxisService;
import org.apache.axis2.description.InOutAxisOperation;

/** The service as Axis2 is told of it: one operation, bound by what WSDL2Java made. */
final class Binding {
  static final String NAMESPACE = "urn:edgegauge:services:1";

  private Binding() {}

  static AxisService service(Setup setup, Services services) throws Exception {
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
