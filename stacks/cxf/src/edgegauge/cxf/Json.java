package edgegauge.cxf;

import com.fasterxml.jackson.jaxrs.json.JacksonJsonProvider;
import edgegauge.jackson.StrictJson;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.annotation.Annotation;
import java.lang.reflect.Type;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.core.MultivaluedMap;

/** Jackson's provider. */
final class Json extends JacksonJsonProvider {
  private final Timing timing; // null without hooks

  Json(Timing timing) {
    super(StrictJson.mapper());
    this.timing = timing;
  }

  @Override public void writeTo(Object o, Class<?> c, Type t, Annotation[] a, MediaType m, MultivaluedMap<String, Object> headers, OutputStream out) throws IOException {
    if (timing == null) super.writeTo(o, c, t, a, m, headers, out);
    else timing.write(o, to -> super.writeTo(o, c, t, a, m, headers, to), headers, out);
  }

  @Override public Object readFrom(Class<Object> c, Type t, Annotation[] a, MediaType m, MultivaluedMap<String, String> headers, InputStream in) throws IOException {
    return timing == null ? super.readFrom(c, t, a, m, headers, in) : timing.read(from -> super.readFrom(c, t, a, m, headers, from), headers, in);
  }
}
