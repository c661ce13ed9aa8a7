package edgegauge.jersey;

import edgegauge.adapter.Body;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Setup;
import edgegauge.jaxb.Bean;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.annotation.Annotation;
import java.lang.reflect.Type;
import javax.ws.rs.WebApplicationException;
import javax.ws.rs.core.HttpHeaders;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.core.MultivaluedMap;
import javax.ws.rs.ext.MessageBodyReader;
import javax.ws.rs.ext.MessageBodyWriter;
import javax.ws.rs.ext.Provider;

/** Stands before Jersey's provider for beans, on either side: bytes are made before they are written, and read before they are decoded. */
@Provider
public final class BeanEntity implements MessageBodyReader<Bean>, MessageBodyWriter<Bean> {
  private final Setup setup;
  private final Format format;
  private final ServerLog log; // null at the client

  BeanEntity(Setup setup, Format format, ServerLog log) {
    this.setup = setup;
    this.format = format;
    this.log = log;
  }

  @Override public boolean isReadable(Class<?> c, Type t, Annotation[] a, MediaType m) {
    return Bean.class.isAssignableFrom(c);
  }

  @Override public boolean isWriteable(Class<?> c, Type t, Annotation[] a, MediaType m) {
    return Bean.class.isAssignableFrom(c);
  }

  /** Jersey's providers for beans do not know it either. Told the size, Jersey and the JDK would send in another way. */
  @Override public long getSize(Bean bean, Class<?> c, Type t, Annotation[] a, MediaType mt) {
    return -1;
  }

  @Override public void writeTo(Bean bean, Class<?> c, Type t, Annotation[] a, MediaType mt, MultivaluedMap<String, Object> h, OutputStream out)
      throws IOException {
    Exchange x = Exchange.mine();
    long t0 = System.nanoTime();
    byte[] b = format.encode(bean);
    x.serialization = System.nanoTime() - t0;
    x.out = b.length;
    if (log != null) log.sending();
    try {
      out.write(b);
    } finally {
      if (log != null) log.sent(x);
    }
  }

  @Override public Bean readFrom(Class<Bean> c, Type t, Annotation[] a, MediaType mt, MultivaluedMap<String, String> h, InputStream in)
      throws IOException {
    if (log == null) return read(c, h, in);
    try {
      return read(c, h, in);
    } catch (WebApplicationException e) { // Jersey's provider says 400 and no more
      throw Refusal.of(e.getResponse().getStatus(), e.getCause() instanceof Exception ? (Exception) e.getCause() : e);
    } catch (IOException | RuntimeException e) {
      throw edgegauge.jaxrs.Refusal.unreadable(e);
    }
  }

  private Bean read(Class<Bean> c, MultivaluedMap<String, String> h, InputStream in) throws IOException {
    Exchange x = Exchange.mine();
    String length = h.getFirst(HttpHeaders.CONTENT_LENGTH);
    byte[] b = Body.read(in, length == null ? -1 : Long.parseLong(length), log == null ? Integer.MAX_VALUE : setup.bodyLimit);
    if (log == null) x.done = System.nanoTime();
    else x.begin();
    x.in = b.length;
    long t0 = System.nanoTime();
    Bean bean = format.decode(c, b);
    x.deserialization = System.nanoTime() - t0;
    return bean;
  }
}
