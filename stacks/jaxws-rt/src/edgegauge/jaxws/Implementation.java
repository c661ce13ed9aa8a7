package edgegauge.jaxws;

import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Service;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.jaxb.*;
import java.io.IOException;
import javax.xml.namespace.QName;
import javax.xml.soap.SOAPConstants;
import javax.xml.soap.SOAPException;
import javax.xml.soap.SOAPFactory;
import javax.xml.ws.soap.SOAPFaultException;

/** The service's implementation, as a user of JAX-WS writes it, with a clock at its entry and return. A subclass has the annotation. */
public abstract class Implementation implements Port {
  private final Service service;
  private final boolean soap12;
  private final Services services;
  private final Beans beans;

  protected Implementation(Setup setup, Services services) {
    service = setup.service;
    soap12 = setup.encoding.equals("soap12");
    this.services = services;
    beans = new Beans(service, "xml");
  }

  @SuppressWarnings("unchecked")
  private <T> T answer(Object bean) {
    Exchange x = Exchange.mine();
    long[] mark = ServerSide.MARK.get();
    long t = System.nanoTime();
    x.deserialization += t - mark[0];
    try {
      return (T) beans.response(services.answer(service, request(bean)));
    } catch (IOException e) {
      throw new IllegalStateException(e.getMessage(), e); // Metro makes it the server's fault
    } finally {
      mark[0] = System.nanoTime();
      x.processing = mark[0] - t;
    }
  }

  private Message request(Object bean) {
    try {
      return beans.values(bean);
    } catch (IllegalArgumentException e) {
      throw sender(e.getMessage());
    }
  }

  private SOAPFaultException sender(String reason) {
    try {
      return new SOAPFaultException(soap12
          ? SOAPFactory.newInstance(SOAPConstants.SOAP_1_2_PROTOCOL).createFault(String.valueOf(reason), SOAPConstants.SOAP_SENDER_FAULT)
          : SOAPFactory.newInstance().createFault(String.valueOf(reason), new QName(SOAPConstants.URI_NS_SOAP_1_1_ENVELOPE, "Client")));
    } catch (SOAPException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override public SortResponse sort(Sort in) {
    return answer(in);
  }

  @Override public ConcatResponse concat(Concat in) {
    return answer(in);
  }

  @Override public SumResponse sum(Sum in) {
    return answer(in);
  }

  @Override public EchoResponse echo(Echo in) {
    return answer(in);
  }

  @Override public TemperatureResponse temperature(Temperature in) {
    return answer(in);
  }

  @Override public MonitorResponse monitor(Monitor in) {
    return answer(in);
  }

  @Override public IoResponse io(Io in) {
    return answer(in);
  }

  @Override public MemoryResponse memory(Memory in) {
    return answer(in);
  }
}
