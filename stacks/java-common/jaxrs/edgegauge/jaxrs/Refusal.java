package edgegauge.jaxrs;

import edgegauge.adapter.TooLarge;
import javax.ws.rs.WebApplicationException;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.core.Response;

/** Exceptions with a status and a reason; left to themselves frameworks make a 404 or a 500 of a request that cannot be read. */
public final class Refusal {
  private Refusal() {}

  public static WebApplicationException of(int status, Throwable e) {
    return new WebApplicationException(e, Response.status(status).entity(String.valueOf(e.getMessage())).type(MediaType.TEXT_PLAIN).build());
  }

  /** The request could not be read. */
  public static WebApplicationException unreadable(Throwable e) {
    if (e instanceof WebApplicationException) return (WebApplicationException) e;
    return of(e instanceof TooLarge ? 413 : 400, e);
  }
}
