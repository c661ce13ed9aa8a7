package edgegauge.axis2;

import edgegauge.adapter.Exchange;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.axis2.adb.ServicesMessageReceiverInOut;
import javax.xml.namespace.QName;
import org.apache.axiom.om.OMElement;
import org.apache.axis2.AxisFault;
import org.apache.axis2.context.MessageContext;

/** The receiver that WSDL2Java made, with a clock: up to the skeleton it binds, after it it makes the envelope. */
final class Receiver extends ServicesMessageReceiverInOut {
  private final Skeleton skeleton;
  private final QName name;
  private final boolean hooks;

  Receiver(Setup setup, Services services) {
    name = new QName(Binding.NAMESPACE, setup.service.name);
    hooks = setup.hooks;
    skeleton = new Skeleton(setup, services);
  }

  @Override protected Object getTheImplementationObject(MessageContext m) {
    return skeleton;
  }

  @Override public void invokeBusinessLogic(MessageContext in, MessageContext out) throws AxisFault {
    if (!hooks) {
      super.invokeBusinessLogic(in, out);
      return;
    }
    OMElement root = in.getEnvelope().getBody().getFirstElement();
    if (root == null || !root.getQName().equals(name)) throw Faults.sender(new IllegalArgumentException("body is not " + name), in);
    skeleton.begin(root.getBuilder());
    try {
      super.invokeBusinessLogic(in, out);
    } catch (AxisFault | RuntimeException e) {
      if (skeleton.bound()) throw e;
      throw Faults.sender(e, in);
    }
    Exchange.mine().serialization += System.nanoTime() - skeleton.answered();
  }
}
