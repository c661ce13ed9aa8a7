package edgegauge.cxf;

import edgegauge.adapter.Exchange;
import edgegauge.adapter.Service;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.jaxb.*;
import edgegauge.jaxws.Port;
import java.io.IOException;
import javax.jws.WebService;

/** The service's implementation, as a user of JAX-WS writes it. */
@WebService(endpointInterface = "edgegauge.jaxws.Port", targetNamespace = Port.NAMESPACE, serviceName = "Services", portName = "Port")
public final class Skeleton implements Port {
  private final Setup setup;
  private final Services services;
  private final Beans beans;

  Skeleton(Setup setup, Services services) {
    this.setup = setup;
    this.services = services;
    beans = new Beans(setup.service, setup.encoding);
  }

  /** From beans to values, the service's work, and back to beans: all of it is processing. */
  private Bean answer(Service service, Bean in) {
    if (service != setup.service) throw Faults.sender("this server has " + setup.service.name + ", not " + service.name);
    long t0 = System.nanoTime();
    try {
      return beans.response(services.answer(service, beans.values(in)));
    } catch (IllegalArgumentException e) {
      throw Faults.sender(e.getMessage());
    } catch (IOException | ArithmeticException e) {
      throw Faults.receiver(e.getMessage());
    } finally {
      Exchange.mine().processing = System.nanoTime() - t0;
    }
  }

  @Override public SortResponse sort(Sort in) {
    return (SortResponse) answer(Service.SORT, in);
  }

  @Override public ConcatResponse concat(Concat in) {
    return (ConcatResponse) answer(Service.CONCAT, in);
  }

  @Override public SumResponse sum(Sum in) {
    return (SumResponse) answer(Service.SUM, in);
  }

  @Override public EchoResponse echo(Echo in) {
    return (EchoResponse) answer(Service.ECHO, in);
  }

  @Override public TemperatureResponse temperature(Temperature in) {
    return (TemperatureResponse) answer(Service.TEMPERATURE, in);
  }

  @Override public MonitorResponse monitor(Monitor in) {
    return (MonitorResponse) answer(Service.MONITOR, in);
  }

  @Override public IoResponse io(Io in) {
    return (IoResponse) answer(Service.IO, in);
  }

  @Override public MemoryResponse memory(Memory in) {
    return (MemoryResponse) answer(Service.MEMORY, in);
  }
}
