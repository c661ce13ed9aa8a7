package edgegauge.jaxrs;

import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import javax.ws.rs.Consumes;
import javax.ws.rs.Path;
import javax.ws.rs.Produces;

/** {@link Resource} in XML. */
@Path("/")
@Consumes("application/xml")
@Produces("application/xml")
public final class XmlResource extends Resource {
  public XmlResource(Setup setup, Services services) {
    super(setup, services);
  }
}
