package edgegauge.cxf;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.jaxrs.json.JacksonJsonProvider;
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
    super(mapper());
    this.timing = timing;
  }

  /** Jackson's defaults, but for what the contract asks: no value is made of another type's, nothing follows the object, other fields pass. */
  private static JsonMapper mapper() {
    return JsonMapper.builder().disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
        .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, DeserializationFeature.ACCEPT_FLOAT_AS_INT)
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).disable(SerializationFeature.FAIL_ON_EMPTY_BEANS).build();
  }

  @Override public void writeTo(Object o, Class<?> c, Type t, Annotation[] a, MediaType m, MultivaluedMap<String, Object> headers, OutputStream out) throws IOException {
    if (timing == null) super.writeTo(o, c, t, a, m, headers, out);
    else timing.write(o, to -> super.writeTo(o, c, t, a, m, headers, to), headers, out);
  }

  @Override public Object readFrom(Class<Object> c, Type t, Annotation[] a, MediaType m, MultivaluedMap<String, String> headers, InputStream in) throws IOException {
    return timing == null ? super.readFrom(c, t, a, m, headers, in) : timing.read(from -> super.readFrom(c, t, a, m, headers, from), headers, in);
  }
}
