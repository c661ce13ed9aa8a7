package edgegauge.jersey;

import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import java.io.IOException;
import javax.ws.rs.Consumes;
import javax.ws.rs.POST;
import javax.ws.rs.Path;
import javax.ws.rs.PathParam;
import javax.ws.rs.Produces;
import javax.ws.rs.WebApplicationException;

/** The service as a JAX-RS resource. */
@Path("{service}")
public final class Resource {
  private final Setup setup;
  private final Services services;

  Resource(Setup setup, Services services) {
    this.setup = setup;
    this.services = services;
  }

  @POST
  @Consumes(Entity.TYPE)
  @Produces(Entity.TYPE)
  public Message post(@PathParam("service") String name, Message in) {
    if (!name.equals(setup.service.name)) throw new WebApplicationException(404);
    long t0 = System.nanoTime();
    try {
      return services.answer(setup.service, in);
    } catch (IOException e) {
      throw Refusal.of(500, e);
    } finally {
      Exchange.mine().processing = System.nanoTime() - t0;
    }
  }
}
