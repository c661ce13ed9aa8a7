package edgegauge.restlet;

import edgegauge.adapter.Body;
import edgegauge.adapter.Doctype;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import edgegauge.adapter.TooLarge;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.restlet.data.MediaType;
import org.restlet.data.Status;
import org.restlet.representation.ByteArrayRepresentation;
import org.restlet.representation.Representation;
import org.restlet.resource.Post;
import org.restlet.resource.ResourceException;
import org.restlet.resource.ServerResource;

/** The service as a resource: it takes the entity, receives it whole, and converts it under the clock; so too the answer. */
public final class Resource extends ServerResource {
  private final Setup setup;
  private final Services services;
  private final ServerLog log;
  private final Format format;

  Resource(Setup setup, Services services, ServerLog log, Format format) {
    this.setup = setup;
    this.services = services;
    this.log = log;
    this.format = format;
    setNegotiated(false); // one encoding is served
  }

  @Post public Representation answer(Representation entity) throws IOException {
    if (!setup.hooks) return format.response(services.answer(setup.service, format.request(entity)));
    Representation body = receive(entity);
    Exchange x = Exchange.mine().begin();
    x.in = body.getSize();
    Message in = read(body);
    long t1 = System.nanoTime();
    x.deserialization = t1 - x.begun;
    Message out;
    try {
      out = services.answer(setup.service, in);
    } catch (IOException | ArithmeticException e) {
      throw new ResourceException(Status.SERVER_ERROR_INTERNAL, e.getMessage(), e);
    }
    long t2 = System.nanoTime();
    x.processing = t2 - t1;
    ByteArrayOutputStream made = new ByteArrayOutputStream(1024);
    format.response(out).write(made);
    x.serialization = System.nanoTime() - t2;
    x.out = made.size();
    return new Sent(made.toByteArray(), format.type(), log);
  }

  private Representation receive(Representation entity) throws IOException {
    MediaType type = entity == null ? null : entity.getMediaType();
    try {
      InputStream in = entity == null ? null : entity.getStream(); // can be asked for once
      byte[] b = in == null ? new byte[0] : Body.read(in, entity.getSize(), setup.bodyLimit);
      if (type == null || !type.equals(format.type(), true)) throw new ResourceException(Status.CLIENT_ERROR_UNSUPPORTED_MEDIA_TYPE, "send " + format.type());
      if (format.type().equals(MediaType.APPLICATION_XML)) Doctype.refuse(b); // Restlet's parser would fetch an external entity
      return new ByteArrayRepresentation(b, format.type(), b.length);
    } catch (TooLarge e) {
      throw new ResourceException(Status.CLIENT_ERROR_REQUEST_ENTITY_TOO_LARGE, e.getMessage(), e);
    } catch (IOException e) {
      throw new ResourceException(Status.CLIENT_ERROR_BAD_REQUEST, e.getMessage(), e);
    }
  }

  private Message read(Representation body) {
    try {
      return format.request(body);
    } catch (IOException | RuntimeException e) { // org.json and JAXB throw of both kinds
      throw new ResourceException(Status.CLIENT_ERROR_BAD_REQUEST, e.getMessage(), e);
    }
  }

  /** An answer in memory that tells the log when Restlet hands it to the connector. */
  private static final class Sent extends ByteArrayRepresentation {
    private final ServerLog log;

    Sent(byte[] b, MediaType type, ServerLog log) {
      super(b, type, b.length);
      this.log = log;
    }

    @Override public void write(OutputStream out) throws IOException {
      log.sending();
      try {
        super.write(out);
      } finally {
        log.sent(Exchange.mine());
      }
    }
  }
}
