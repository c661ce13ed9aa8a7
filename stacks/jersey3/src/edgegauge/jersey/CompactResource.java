package edgegauge.jersey;

import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.jaxrs.Resource;
import jakarta.ws.rs.Consumes;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;

/** {@link Resource} in EXI or Fast Infoset; which of them, {@link CompactProvider} says. */
@Path("/")
@Consumes({"application/exi", "application/fastinfoset"})
@Produces({"application/exi", "application/fastinfoset"})
public final class CompactResource extends Resource {
  public CompactResource(Setup setup, Services services) {
    super(setup, services);
  }
}
