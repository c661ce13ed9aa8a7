package edgegauge.jaxrs;

import edgegauge.adapter.Exchange;
import edgegauge.adapter.Service;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.jaxb.*;
import java.io.IOException;
import javax.ws.rs.POST;
import javax.ws.rs.Path;
import javax.ws.rs.WebApplicationException;

/** The services as a JAX-RS resource of JAXB beans; a class of the encoding's own says what it consumes and produces. */
public class Resource {
  private final Setup setup;
  private final Services services;
  private final Beans beans;

  protected Resource(Setup setup, Services services) {
    this.setup = setup;
    this.services = services;
    beans = new Beans(setup.service, setup.encoding);
  }

  /** From beans to values, the service's work, and back to beans: all of it is processing. */
  private Bean answer(Service service, Bean in) {
    if (service != setup.service) throw new WebApplicationException(404);
    long t0 = System.nanoTime();
    try {
      return beans.response(services.answer(service, beans.values(in)));
    } catch (IllegalArgumentException e) {
      throw Refusal.of(400, e);
    } catch (IOException | ArithmeticException e) {
      throw Refusal.of(500, e);
    } finally {
      Exchange.mine().processing = System.nanoTime() - t0;
    }
  }

  @POST @Path("sort") public SortResponse sort(Sort in) {
    return (SortResponse) answer(Service.SORT, in);
  }

  @POST @Path("concat") public ConcatResponse concat(Concat in) {
    return (ConcatResponse) answer(Service.CONCAT, in);
  }

  @POST @Path("sum") public SumResponse sum(Sum in) {
    return (SumResponse) answer(Service.SUM, in);
  }

  @POST @Path("echo") public EchoResponse echo(Echo in) {
    return (EchoResponse) answer(Service.ECHO, in);
  }

  @POST @Path("temperature") public TemperatureResponse temperature(Temperature in) {
    return (TemperatureResponse) answer(Service.TEMPERATURE, in);
  }

  @POST @Path("monitor") public MonitorResponse monitor(Monitor in) {
    return (MonitorResponse) answer(Service.MONITOR, in);
  }

  @POST @Path("io") public IoResponse io(Io in) {
    return (IoResponse) answer(Service.IO, in);
  }

  @POST @Path("memory") public MemoryResponse memory(Memory in) {
    return (MemoryResponse) answer(Service.MEMORY, in);
  }
}
