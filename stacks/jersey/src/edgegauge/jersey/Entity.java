package edgegauge.jersey;

import edgegauge.adapter.Body;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Protobuf;
import edgegauge.adapter.Setup;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.annotation.Annotation;
import java.lang.reflect.Type;
import javax.ws.rs.core.HttpHeaders;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.core.MultivaluedMap;
import javax.ws.rs.ext.MessageBodyReader;
import javax.ws.rs.ext.MessageBodyWriter;

/** Jersey's hook for bodies, on either side: bytes are made before they are written, and read before they are decoded. */
abstract class Entity implements MessageBodyReader<Message>, MessageBodyWriter<Message> {
  static final String TYPE = "application/x-protobuf";

  final Setup setup;
  final Protobuf codec;
  private final ThreadLocal<byte[]> made = new ThreadLocal<>();

  Entity(Setup setup) {
    this.setup = setup;
    codec = new Protobuf(setup.service);
  }

  abstract byte[] encode(Message m);

  abstract Message decode(byte[] b) throws IOException;

  /** The body is whole and not yet decoded; x is the exchange it belongs to. */
  abstract void received(Exchange x);

  @Override public boolean isReadable(Class<?> c, Type t, Annotation[] a, MediaType m) {
    return c == Message.class;
  }

  @Override public boolean isWriteable(Class<?> c, Type t, Annotation[] a, MediaType m) {
    return c == Message.class;
  }

  /** Jersey 1 asks for the size first, so the bytes are made here, under the clock, and written in writeTo. Later ones do not ask. */
  @Override public long getSize(Message m, Class<?> c, Type t, Annotation[] a, MediaType mt) {
    return make(m).length;
  }

  private byte[] make(Message m) {
    if (!setup.hooks) return keep(encode(m));
    Exchange x = Exchange.mine();
    long t0 = System.nanoTime();
    byte[] b = encode(m);
    x.serialization = System.nanoTime() - t0;
    x.out = b.length;
    return keep(b);
  }

  private byte[] keep(byte[] b) {
    made.set(b);
    return b;
  }

  @Override public void writeTo(Message m, Class<?> c, Type t, Annotation[] a, MediaType mt, MultivaluedMap<String, Object> h, OutputStream out)
      throws IOException {
    byte[] b = made.get();
    if (b == null) b = make(m);
    made.set(null);
    out.write(b);
  }

  @Override public Message readFrom(Class<Message> c, Type t, Annotation[] a, MediaType mt, MultivaluedMap<String, String> h, InputStream in)
      throws IOException {
    String length = h.getFirst(HttpHeaders.CONTENT_LENGTH);
    byte[] b = Body.read(in, length == null ? -1 : Long.parseLong(length), setup.bodyLimit);
    if (!setup.hooks) return decode(b);
    Exchange x = Exchange.mine();
    received(x);
    x.in = b.length;
    long t0 = System.nanoTime();
    Message r = decode(b);
    x.deserialization = System.nanoTime() - t0;
    return r;
  }
}
