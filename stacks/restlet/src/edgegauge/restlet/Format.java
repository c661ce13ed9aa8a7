package edgegauge.restlet;

import edgegauge.adapter.Message;
import edgegauge.adapter.Setup;
import java.io.IOException;
import org.restlet.data.MediaType;
import org.restlet.representation.Representation;

/** An encoding as Restlet has it: values from and to its representations, both lazily, as Restlet's own converters use them. */
interface Format {
  MediaType type();

  /** Representations that are not yet written. */
  Representation request(Message m);

  Representation response(Message m);

  /** Read what arrived; what is wrong with it is an IOException or a RuntimeException. */
  Message request(Representation r) throws IOException;

  Message response(Representation r) throws IOException;

  static Format of(Setup setup) {
    return setup.encoding.equals("json") ? new JsonFormat(setup.service) : new XmlFormat(setup.service);
  }
}
