package edgegauge.jaxrs;

import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import javax.ws.rs.Consumes;
import javax.ws.rs.Path;
import javax.ws.rs.Produces;

/** {@link Resource} in JSON. */
@Path("/")
@Consumes("application/json")
@Produces("application/json")
public final class JsonResource extends Resource {
  public JsonResource(Setup setup, Services services) {
    super(setup, services);
  }
}
