package edgegauge.jersey;

import edgegauge.jaxb.Bean;
import java.io.IOException;

/** A provider of Jersey's for beans, apart from its stream. */
interface Format {
  byte[] encode(Bean bean) throws IOException;

  Bean decode(Class<?> type, byte[] b) throws IOException;
}
