package edgegauge.restlet;

import edgegauge.adapter.Message;
import edgegauge.adapter.Service;
import edgegauge.jaxb.Bean;
import edgegauge.jaxb.Beans;
import java.io.IOException;
import org.restlet.data.MediaType;
import org.restlet.ext.jaxb.JaxbRepresentation;
import org.restlet.representation.Representation;

/** XML by Restlet's JAXB extension. */
final class XmlFormat implements Format {
  private final Beans beans;

  XmlFormat(Service service) {
    beans = new Beans(service, "xml");
  }

  @Override public MediaType type() {
    return MediaType.APPLICATION_XML;
  }

  @Override public Representation request(Message m) {
    return new JaxbRepresentation<>(type(), beans.request(m));
  }

  @Override public Representation response(Message m) {
    return new JaxbRepresentation<>(type(), beans.response(m));
  }

  @Override public Message request(Representation r) throws IOException {
    return beans.values(read(r, beans.requestClass()));
  }

  @Override public Message response(Representation r) throws IOException {
    return beans.answer(read(r, beans.responseClass()));
  }

  /** Without a handler JAXB leaves out what it cannot read. */
  private static Bean read(Representation r, Class<? extends Bean> type) throws IOException {
    return new JaxbRepresentation<>(r, type, event -> false).getObject();
  }
}
