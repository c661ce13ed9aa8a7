package edgegauge.jersey;

import edgegauge.adapter.Body;
import edgegauge.adapter.Doctype;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Setup;
import edgegauge.compact.Form;
import edgegauge.jaxb.Bean;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.ext.ReaderInterceptor;
import jakarta.ws.rs.ext.ReaderInterceptorContext;
import jakarta.ws.rs.ext.WriterInterceptor;
import jakarta.ws.rs.ext.WriterInterceptorContext;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;

/** JAX-RS's hooks around Jersey's providers for beans, on either side: they write into memory and read from it, under the clock. */
final class BeanTiming implements ReaderInterceptor, WriterInterceptor {
  private final Setup setup;
  private final ServerLog log; // null at the client

  private final Form form;     // null: XML or JSON as the provider writes it

  BeanTiming(Setup setup, Form form, ServerLog log) {
    this.setup = setup;
    this.form = form;
    this.log = log;
  }

  @Override public void aroundWriteTo(WriterInterceptorContext c) throws IOException {
    if (!(c.getEntity() instanceof Bean)) { // the words of a refusal
      c.proceed();
      return;
    }
    Exchange x = Exchange.mine();
    OutputStream out = c.getOutputStream();
    ByteArrayOutputStream buffer = new ByteArrayOutputStream(1024);
    c.setOutputStream(buffer);
    long t0 = System.nanoTime();
    c.proceed();
    byte[] packed = form != null && form.gzipped() ? form.pack(buffer.toByteArray()) : null;
    x.serialization = System.nanoTime() - t0;
    x.out = packed != null ? packed.length : buffer.size();
    c.setOutputStream(out);
    if (packed != null) c.getHeaders().putSingle(HttpHeaders.CONTENT_ENCODING, "gzip");
    if (log != null) log.sending();
    try {
      if (packed != null) out.write(packed);
      else buffer.writeTo(out);
    } finally {
      if (log != null) log.sent(x);
    }
  }

  @Override public Object aroundReadFrom(ReaderInterceptorContext c) throws IOException {
    if (!Bean.class.isAssignableFrom(c.getType())) return c.proceed();
    if (log == null) return read(c);
    try {
      return read(c);
    } catch (IOException | RuntimeException e) {
      throw edgegauge.jaxrs.Refusal.unreadable(e);
    }
  }

  private Object read(ReaderInterceptorContext c) throws IOException {
    Exchange x = Exchange.mine();
    String length = c.getHeaders().getFirst(HttpHeaders.CONTENT_LENGTH);
    byte[] b = Body.read(c.getInputStream(), length == null ? -1 : Long.parseLong(length), log == null ? Integer.MAX_VALUE : setup.bodyLimit);
    if (log != null) x.begin();
    else x.done = System.nanoTime();
    x.in = b.length;
    if (setup.encoding.equals("xml")) Doctype.refuse(b);
    long t0 = System.nanoTime();
    if (form != null && form.gzipped()) {
      b = form.unpack(b);
      Doctype.refuse(b);
    }
    c.setInputStream(new ByteArrayInputStream(b));
    Object bean = c.proceed();
    x.deserialization = System.nanoTime() - t0;
    if (bean != null && !c.getType().isInstance(bean)) throw new IOException("message is another service's");
    return bean;
  }
}
