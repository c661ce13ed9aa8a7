package edgegauge.jersey;

import javax.ws.rs.WebApplicationException;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.core.Response;

/** Exceptions with a status and a reason; any other exception Jersey hands to Grizzly, which makes a 404 of it. */
final class Refusal {
  private Refusal() {}

  static WebApplicationException of(int status, Exception e) {
    return new WebApplicationException(e, Response.status(status).entity(String.valueOf(e.getMessage())).type(MediaType.TEXT_PLAIN).build());
  }
}
