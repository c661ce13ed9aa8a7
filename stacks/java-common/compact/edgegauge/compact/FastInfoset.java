package edgegauge.compact;

import com.sun.xml.fastinfoset.stax.StAXDocumentParser;
import com.sun.xml.fastinfoset.stax.StAXDocumentSerializer;
import java.io.ByteArrayInputStream;
import java.io.OutputStream;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import javax.xml.stream.XMLStreamWriter;

/** Fast Infoset, by the serializer and parser of com.sun.xml.fastinfoset. */
final class FastInfoset extends Form {
  private static final int KEPT = 1 << 14; // bytes: a serializer keeps buffers as large as its last message, and every thread of a server has one

  private final ThreadLocal<Serializer> serializers = new ThreadLocal<>();

  FastInfoset(long limit) {
    super(limit);
  }

  @Override public XMLStreamWriter writer(OutputStream out) {
    Serializer s = serializers.get();
    serializers.remove(); // comes back if this message leaves it small
    if (s == null) s = new Serializer();
    s.begin(out);
    return s;
  }

  @Override public XMLStreamReader reader(byte[] b) throws XMLStreamException {
    try {
      Parser p = new Parser(b);
      return new Guard(p, limit, p::rest);
    } catch (RuntimeException | OutOfMemoryError e) {
      throw refused(e);
    }
  }

  @Override public String media(boolean soap) {
    return soap ? "application/soap+fastinfoset" : "application/fastinfoset";
  }

  @Override public int contentFormat() {
    return 42; // application/octet-stream: it has none of its own
  }

  private final class Serializer extends StAXDocumentSerializer {
    private Counted counted;

    void begin(OutputStream out) {
      reset();
      setOutputStream(counted = new Counted(out));
    }

    @Override public void close() throws XMLStreamException {
      super.close();
      if (counted.bytes <= KEPT) serializers.set(this);
      counted = null;
    }
  }

  private static final class Parser extends StAXDocumentParser {
    private final ByteArrayInputStream in;

    Parser(byte[] b) {
      in = new ByteArrayInputStream(b);
      setInputStream(in);
    }

    boolean rest() {
      return _octetBufferOffset < _octetBufferEnd || in.available() > 0;
    }
  }
}
