package edgegauge.compact;

import com.sun.xml.fastinfoset.stax.StAXDocumentParser;
import com.sun.xml.fastinfoset.stax.StAXDocumentSerializer;
import java.io.ByteArrayInputStream;
import java.io.OutputStream;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import javax.xml.stream.XMLStreamWriter;

/** Fast Infoset, by the serializer and parser of com.sun.xml.fastinfoset, one of each a thread. */
final class FastInfoset extends Form {
  private final ThreadLocal<StAXDocumentSerializer> serializers = ThreadLocal.withInitial(StAXDocumentSerializer::new);

  FastInfoset(long limit) {
    super(limit);
  }

  @Override public XMLStreamWriter writer(OutputStream out) {
    StAXDocumentSerializer s = serializers.get();
    s.reset();
    s.setOutputStream(out);
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
