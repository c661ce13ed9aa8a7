package edgegauge.compact;

import com.siemens.ct.exi.core.CodingMode;
import com.siemens.ct.exi.core.EXIBodyDecoder;
import com.siemens.ct.exi.core.EXIFactory;
import com.siemens.ct.exi.core.EXIStreamDecoder;
import com.siemens.ct.exi.core.FidelityOptions;
import com.siemens.ct.exi.core.exceptions.EXIException;
import com.siemens.ct.exi.core.grammars.Grammars;
import com.siemens.ct.exi.core.helpers.DefaultEXIFactory;
import com.siemens.ct.exi.grammars.GrammarFactory;
import com.siemens.ct.exi.main.api.stream.StAXDecoder;
import com.siemens.ct.exi.main.api.stream.StAXEncoder;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import javax.xml.stream.XMLStreamWriter;
import org.apache.xerces.xni.parser.XMLInputSource;

/** EXI by EXIficient, with the options that contract/README.md says for each name. The grammars are made once, encoders and decoders once a thread. */
final class Exi extends Form {
  private static final Map<String, Grammars> GRAMMARS = new HashMap<>();
  private static final int KEPT = 1 << 14; // bytes: a coder holds all values of its last message, and every thread of a server has one

  private final EXIFactory factory;
  private final ThreadLocal<Sink> sinks = new ThreadLocal<>();
  private final ThreadLocal<Source> sources = new ThreadLocal<>();

  /** An empty schema is none. */
  Exi(long limit, String schema, boolean compressed) {
    super(limit);
    try {
      factory = DefaultEXIFactory.newInstance();
      if (!schema.isEmpty()) {
        factory.setGrammars(grammars(schema));
        factory.setFidelityOptions(FidelityOptions.createStrict());
      }
      factory.setCodingMode(compressed ? CodingMode.COMPRESSION : CodingMode.BIT_PACKED);
    } catch (EXIException e) {
      throw new IllegalStateException(e);
    }
  }

  private static synchronized Grammars grammars(String schema) throws EXIException {
    Grammars g = GRAMMARS.get(schema);
    if (g == null) GRAMMARS.put(schema, g = load(schema));
    return g;
  }

  private static Grammars load(String schema) throws EXIException {
    // What a schema imports stands beside it, not where a URL would lead.
    return GrammarFactory.newInstance().createGrammars(file(schema), id -> {
      String name = id.getLiteralSystemId();
      return name == null ? null : new XMLInputSource(id.getPublicId(), name, null, file(name), null);
    });
  }

  private static InputStream file(String name) {
    InputStream in = Exi.class.getResourceAsStream("/contract/" + name);
    if (in == null) throw new UncheckedIOException(new IOException("no contract/" + name + " in the jar; build the stack anew"));
    return in;
  }

  @Override public XMLStreamWriter writer(OutputStream out) throws XMLStreamException {
    try {
      Sink w = sinks.get();
      sinks.remove(); // comes back if this message leaves it small
      if (w == null) w = new Sink();
      w.begin(out);
      return w;
    } catch (EXIException | IOException e) {
      throw refused(e);
    }
  }

  @Override public XMLStreamReader reader(byte[] b) throws XMLStreamException {
    if (b.length == 0 || b[0] != (byte) 0x80) throw new XMLStreamException("header is not EXI's 0x80: version 1, no cookie, no options");
    Source s = sources.get();
    sources.remove(); // comes back if this message leaves it whole
    try {
      if (s == null) s = new Source(factory);
      Source reader = s;
      reader.begin(b, limit);
      return new Guard(reader, limit, () -> {
        if (reader.limits.rest()) return true;
        if (b.length <= KEPT) sources.set(reader);
        return false;
      });
    } catch (EXIException | IOException | RuntimeException | OutOfMemoryError e) {
      throw refused(e);
    }
  }

  @Override public String media(boolean soap) {
    return "application/exi";
  }

  @Override public int contentFormat() {
    return 47; // application/exi
  }

  /** EXIficient's writer, which its thread keeps after a small document. */
  private final class Sink extends StAXEncoder {
    private Counted counted;

    private Sink() throws EXIException {
      super(factory);
    }

    void begin(OutputStream out) throws EXIException, IOException {
      setOutputStream(counted = new Counted(out));
    }

    @Override public void close() throws XMLStreamException {
      super.close();
      // Subtle: with compression EXIficient's encoder has ended its deflater after one document.
      if (factory.getCodingMode() == CodingMode.BIT_PACKED && counted.bytes <= KEPT) sinks.set(this);
      counted = null;
    }
  }

  /** EXIficient's reader on a decoder that is bounded. */
  private static final class Source extends StAXDecoder {
    final Limits limits;

    private Source(EXIFactory f) throws EXIException {
      super(f);
      limits = new Limits(f);
      exiStream = new EXIStreamDecoder() {
        @Override public EXIBodyDecoder getBodyOnlyDecoder(InputStream is) throws EXIException, IOException {
          return limits.decoder((ByteArrayInputStream) is);
        }

        @Override public EXIBodyDecoder decodeHeader(InputStream is) throws EXIException, IOException {
          is.read(); // 0x80, seen before
          return limits.decoder((ByteArrayInputStream) is);
        }
      };
    }

    void begin(byte[] b, long limit) throws EXIException, IOException, XMLStreamException {
      limits.reset(limit);
      setInputStream(new ByteArrayInputStream(b));
    }
  }
}
