package edgegauge.cxf;

import edgegauge.adapter.Body;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Setup;
import edgegauge.jaxb.Bean;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import javax.ws.rs.core.HttpHeaders;
import javax.ws.rs.core.MultivaluedMap;

/**
 * The clock within the provider, on either side: it writes into memory and reads from it. Not JAX-RS's interceptors, which cost CXF 2 µs a request
 * (`edgegauge bench java/cxf`).
 */
abstract class Timing {
  interface Write {
    void to(OutputStream out) throws IOException;
  }

  interface Read {
    Object from(InputStream in) throws IOException;
  }

  private final Setup setup;
  private final boolean gzip;

  Timing(Setup setup) {
    this.setup = setup;
    gzip = Cxf.gzip(setup);
  }

  /** Hands the message to the transport. */
  abstract void send(byte[] message, OutputStream out, Exchange x) throws IOException;

  /** The body is whole and not yet decoded. */
  abstract void received(Exchange x);

  final void write(Object entity, Write provider, MultivaluedMap<String, Object> headers, OutputStream out) throws IOException {
    if (!(entity instanceof Bean)) { // the words of a refusal
      provider.to(out);
      return;
    }
    Exchange x = Exchange.mine();
    if (gzip) headers.putSingle(HttpHeaders.CONTENT_ENCODING, "gzip");
    long t0 = System.nanoTime();
    ByteArrayOutputStream buffer = new ByteArrayOutputStream(1024);
    provider.to(buffer);
    byte[] message = buffer.toByteArray();
    if (gzip) message = Coding.encode(message);
    x.serialization = System.nanoTime() - t0;
    x.out = message.length;
    send(message, out, x);
  }

  Object read(Read provider, MultivaluedMap<String, String> headers, InputStream in) throws IOException {
    Exchange x = Exchange.mine();
    String length = headers.getFirst(HttpHeaders.CONTENT_LENGTH);
    byte[] b = Body.read(in, length == null ? -1 : Long.parseLong(length), setup.bodyLimit);
    received(x);
    x.in = b.length;
    long t0 = System.nanoTime();
    if ("gzip".equals(headers.getFirst(HttpHeaders.CONTENT_ENCODING))) b = Coding.decode(b, setup.bodyLimit);
    Object bean = provider.from(new ByteArrayInputStream(b));
    x.deserialization = System.nanoTime() - t0;
    return bean;
  }
}
