package edgegauge.cxf;

import edgegauge.adapter.Body;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Setup;
import edgegauge.jaxb.Bean;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import javax.ws.rs.core.HttpHeaders;
import javax.ws.rs.ext.ReaderInterceptor;
import javax.ws.rs.ext.ReaderInterceptorContext;
import javax.ws.rs.ext.WriterInterceptor;
import javax.ws.rs.ext.WriterInterceptorContext;

/** JAX-RS's hooks around the provider, on either side: it writes into memory and reads from it, under the clock. */
abstract class Timing implements WriterInterceptor, ReaderInterceptor {
  private final Setup setup;
  private final boolean gzip;

  Timing(Setup setup) {
    this.setup = setup;
    gzip = setup.option("coding", "identity").equals("gzip");
  }

  /** Hands the message to the transport. */
  abstract void send(byte[] message, OutputStream out, Exchange x) throws IOException;

  /** The body is whole and not yet decoded. */
  abstract void received(Exchange x);

  @Override public void aroundWriteTo(WriterInterceptorContext c) throws IOException {
    if (!(c.getEntity() instanceof Bean)) { // the words of a refusal
      c.proceed();
      return;
    }
    Exchange x = Exchange.mine();
    OutputStream out = c.getOutputStream();
    if (gzip) c.getHeaders().putSingle(HttpHeaders.CONTENT_ENCODING, "gzip");
    long t0 = System.nanoTime();
    ByteArrayOutputStream buffer = new ByteArrayOutputStream(1024);
    c.setOutputStream(buffer);
    c.proceed();
    byte[] message = buffer.toByteArray();
    if (gzip) message = Coding.encode(message);
    x.serialization = System.nanoTime() - t0;
    x.out = message.length;
    c.setOutputStream(out);
    send(message, out, x);
  }

  @Override public Object aroundReadFrom(ReaderInterceptorContext c) throws IOException {
    Exchange x = Exchange.mine();
    String length = c.getHeaders().getFirst(HttpHeaders.CONTENT_LENGTH);
    byte[] b = Body.read(c.getInputStream(), length == null ? -1 : Long.parseLong(length), setup.bodyLimit);
    received(x);
    x.in = b.length;
    long t0 = System.nanoTime();
    if ("gzip".equals(c.getHeaders().getFirst(HttpHeaders.CONTENT_ENCODING))) b = Coding.decode(b, setup.bodyLimit);
    c.setInputStream(new ByteArrayInputStream(b));
    Object bean = c.proceed();
    x.deserialization = System.nanoTime() - t0;
    return bean;
  }
}
