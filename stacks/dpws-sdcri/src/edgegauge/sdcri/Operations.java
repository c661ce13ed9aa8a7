package edgegauge.sdcri;

import com.google.inject.Inject;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import java.util.List;
import org.somda.sdc.dpws.device.WebService;
import org.somda.sdc.dpws.soap.SoapUtil;
import org.somda.sdc.dpws.soap.exception.SoapFaultException;
import org.somda.sdc.dpws.soap.factory.SoapFaultFactory;
import org.somda.sdc.dpws.soap.interception.Direction;
import org.somda.sdc.dpws.soap.interception.MessageInterceptor;
import org.somda.sdc.dpws.soap.interception.RequestResponseObject;
import org.somda.sdc.dpws.soap.wseventing.ActionBasedEventSource;
import org.w3c.dom.Element;

/** The hosted service. Bodies are plain DOM: SDCri's JAXB knows no message of ours. An action has to be a constant, so there is a method for each. */
public class Operations extends WebService {
  private static final String NS = Sdcri.NAMESPACE + "/";

  private final SoapUtil soap;
  private final SoapFaultFactory faults;
  private final Setup setup;
  private final Registry registry;
  Services services;
  ActionBasedEventSource events; // of the answers to all requests; null: no event source

  @Inject Operations(SoapUtil soap, SoapFaultFactory faults, Setup setup, Registry registry) {
    this.soap = soap;
    this.faults = faults;
    this.setup = setup;
    this.registry = registry;
  }

  private void answer(RequestResponseObject o) throws SoapFaultException {
    Exchange x = Exchange.mine();
    Message in;
    long t0 = System.nanoTime();
    try {
      List<Object> any = o.getRequest().getOriginalEnvelope().getBody().getAny();
      if (any.size() != 1 || !(any.get(0) instanceof Element)) throw new IllegalArgumentException("Body does not hold one message");
      in = Dom.read(setup.service, false, (Element) any.get(0));
    } catch (RuntimeException bad) {
      throw new SoapFaultException(faults.createSenderFault(String.valueOf(bad.getMessage())), o.getRequest().getWsAddressingHeader().getMessageId().orElse(null));
    }
    long t1 = System.nanoTime();
    Message out;
    try {
      out = services.answer(setup.service, in);
    } catch (java.io.IOException | RuntimeException failed) {
      throw new SoapFaultException(faults.createReceiverFault(String.valueOf(failed.getMessage())), o.getRequest().getWsAddressingHeader().getMessageId().orElse(null));
    }
    long t2 = System.nanoTime();
    soap.setBody(Dom.write(setup.service, true, out), o.getResponse());
    x.serialization += System.nanoTime() - t2;
    x.processing = t2 - t1;
    x.deserialization += t1 - t0;
    soap.setWsaAction(o.getResponse(), Sdcri.action(setup) + "Response");
    if (events != null) events.sendNotification(Sdcri.action(setup) + "Event", Dom.write(setup.service, true, out));
    registry.invoked();
  }

  private void answer(String service, RequestResponseObject o) throws SoapFaultException {
    if (!service.equals(setup.service.name))
      throw new SoapFaultException(faults.createSenderFault("only " + setup.service.name + " is served"), o.getRequest().getWsAddressingHeader().getMessageId().orElse(null));
    answer(o);
  }

  @MessageInterceptor(value = NS + "sort", direction = Direction.REQUEST) public void sort(RequestResponseObject o) throws SoapFaultException {
    answer("sort", o);
  }

  @MessageInterceptor(value = NS + "concat", direction = Direction.REQUEST) public void concat(RequestResponseObject o) throws SoapFaultException {
    answer("concat", o);
  }

  @MessageInterceptor(value = NS + "sum", direction = Direction.REQUEST) public void sum(RequestResponseObject o) throws SoapFaultException {
    answer("sum", o);
  }

  @MessageInterceptor(value = NS + "echo", direction = Direction.REQUEST) public void echo(RequestResponseObject o) throws SoapFaultException {
    answer("echo", o);
  }

  @MessageInterceptor(value = NS + "temperature", direction = Direction.REQUEST) public void temperature(RequestResponseObject o) throws SoapFaultException {
    answer("temperature", o);
  }

  @MessageInterceptor(value = NS + "monitor", direction = Direction.REQUEST) public void monitor(RequestResponseObject o) throws SoapFaultException {
    answer("monitor", o);
  }

  @MessageInterceptor(value = NS + "io", direction = Direction.REQUEST) public void io(RequestResponseObject o) throws SoapFaultException {
    answer("io", o);
  }

  @MessageInterceptor(value = NS + "memory", direction = Direction.REQUEST) public void memory(RequestResponseObject o) throws SoapFaultException {
    answer("memory", o);
  }
}
