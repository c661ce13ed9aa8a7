package edgegauge.jaxws;

import com.sun.xml.ws.api.message.Packet;
import com.sun.xml.ws.api.pipe.Codec;
import com.sun.xml.ws.api.pipe.ContentType;
import com.sun.xml.ws.api.pipe.SOAPBindingCodec;
import com.sun.xml.ws.api.pipe.StreamSOAPCodec;
import edgegauge.adapter.Body;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;

/**
 * Before Metro's codec. Metro asks it for the content type before it sends anything, so the message is made here, in memory, and written later; Metro
 * alone would write it into the chunked stream, behind the header. What arrives is received whole before the codec sees it. One is used by one thread at a
 * time; Metro copies it.
 */
final class TimedCodec implements SOAPBindingCodec {
  private final Codec real;
  private final Clock.Side side;
  private Packet packet; // the one that made is of
  private byte[] made;
  private ContentType type;

  TimedCodec(Codec real, Clock.Side side) {
    this.real = real;
    this.side = side;
  }

  @Override public ContentType getStaticContentType(Packet p) {
    ContentType t = real.getStaticContentType(p);
    if (t != null && p.getMessage() != null) {
      try {
        make(p);
      } catch (IOException e) {
        throw new IllegalStateException(e); // memory is no device
      }
    }
    return t;
  }

  private void make(Packet p) throws IOException {
    ByteArrayOutputStream buffer = new ByteArrayOutputStream(1024);
    long t0 = System.nanoTime();
    type = real.encode(p, buffer);
    long ns = System.nanoTime() - t0;
    made = buffer.toByteArray();
    packet = p;
    side.serialized(ns, made.length, p);
  }

  @Override public ContentType encode(Packet p, OutputStream out) throws IOException {
    if (packet != p) make(p);
    side.sending(p);
    try {
      out.write(made);
    } finally {
      side.sent(p);
      packet = null;
      made = null;
    }
    return type;
  }

  @Override public void decode(InputStream in, String contentType, Packet p) throws IOException {
    byte[] b = Body.read(in, -1, Integer.MAX_VALUE);
    side.received(b.length);
    long t0 = System.nanoTime();
    real.decode(new ByteArrayInputStream(b), contentType, p);
    side.opened(System.nanoTime() - t0);
  }

  @Override public Codec copy() {
    return new TimedCodec(real.copy(), side);
  }

  @Override public String getMimeType() {
    return real.getMimeType();
  }

  @Override public StreamSOAPCodec getXMLCodec() {
    return ((SOAPBindingCodec) real).getXMLCodec();
  }

  @Override public ContentType encode(Packet p, WritableByteChannel c) {
    throw new UnsupportedOperationException("Metro's HTTP transport writes streams");
  }

  @Override public void decode(ReadableByteChannel c, String contentType, Packet p) {
    throw new UnsupportedOperationException("Metro's HTTP transport reads streams");
  }
}
