package edgegauge.compact;

import edgegauge.adapter.Body;
import edgegauge.adapter.Doctype;
import edgegauge.adapter.TooLarge;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLOutputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import javax.xml.stream.XMLStreamWriter;

/** One way to say XML in bytes. What it loads is loaded when it is made; its readers and writers are for the thread that asked for them. */
public abstract class Form {
  private static final String SOAP = "soap12-";

  final long limit; // bytes or characters that a message may have when it is unpacked

  Form(long limit) {
    this.limit = limit;
  }

  /** A writer of one document. The document is in out when writeEndDocument and close have returned. */
  public abstract XMLStreamWriter writer(OutputStream out) throws XMLStreamException;

  /** A reader of the one document that b is, unpacked. It refuses what is no such document, or over the limit, with XMLStreamException. */
  public abstract XMLStreamReader reader(byte[] b) throws XMLStreamException;

  /** What goes onto the wire for a document that a writer has made. */
  public byte[] pack(byte[] document) throws IOException {
    return document;
  }

  /** The reverse of pack; refuses what is larger than the limit then. */
  public byte[] unpack(byte[] wire) throws IOException {
    return wire;
  }

  /** Whether pack is the content coding gzip. */
  public boolean gzipped() {
    return false;
  }

  /** The media type of HTTP, without parameters. */
  public abstract String media(boolean soap);

  /** The CoAP Content-Format. */
  public abstract int contentFormat();

  /** The form of an encoding's name, SOAP or not; null if it is none of these. Text is xml, soap11 or soap12. */
  public static Form of(String encoding, long limit) {
    boolean soap = encoding.startsWith(SOAP);
    switch (soap ? encoding.substring(SOAP.length()) : encoding) {
      case "xml":
      case "soap11":
      case "soap12":
        return new Text(limit, encoding.equals("soap11"));
      case "xml-gzip":
        return new Gzip(limit);
      case "gzip":
        return soap ? new Gzip(limit) : null;
      case "fastinfoset":
        return new FastInfoset(limit);
      case "exi":
        return new Exi(limit, "", false);
      case "exi-compressed":
        return new Exi(limit, "", true);
      case "exi-schema":
        return new Exi(limit, soap ? "envelope12.xsd" : "services.xsd", false);
      case "exi-schema-compressed":
        return new Exi(limit, soap ? "envelope12.xsd" : "services.xsd", true);
      default:
        return null;
    }
  }

  /** Whether the name is one of a compact form. */
  public static boolean compact(String encoding) {
    return !encoding.equals("xml") && !encoding.equals("soap11") && !encoding.equals("soap12") && of(encoding, 0) != null;
  }

  static XMLStreamException refused(Throwable e) {
    return e instanceof XMLStreamException ? (XMLStreamException) e : new XMLStreamException(String.valueOf(e.getMessage()), e);
  }

  /** Text, by the JDK's own StAX. */
  static class Text extends Form {
    private static final XMLOutputFactory OUT = XMLOutputFactory.newDefaultFactory();
    private static final XMLInputFactory IN = XMLInputFactory.newDefaultFactory();
    private final boolean soap11;

    static {
      IN.setProperty(XMLInputFactory.SUPPORT_DTD, false);
      IN.setProperty(XMLInputFactory.IS_SUPPORTING_EXTERNAL_ENTITIES, false);
    }

    Text(long limit, boolean soap11) {
      super(limit);
      this.soap11 = soap11;
    }

    @Override public XMLStreamWriter writer(OutputStream out) throws XMLStreamException {
      return OUT.createXMLStreamWriter(out, "UTF-8");
    }

    @Override public XMLStreamReader reader(byte[] b) throws XMLStreamException {
      try {
        Doctype.refuse(b);
      } catch (IOException e) {
        throw refused(e);
      }
      return new Guard(IN.createXMLStreamReader(new ByteArrayInputStream(b), "UTF-8"), limit, () -> false);
    }

    @Override public String media(boolean soap) {
      return !soap ? "application/xml" : soap11 ? "text/xml" : "application/soap+xml";
    }

    @Override public int contentFormat() {
      return 41; // application/xml
    }
  }

  /** Text in one member of gzip. */
  static final class Gzip extends Text {
    Gzip(long limit) {
      super(limit, false);
    }

    @Override public byte[] pack(byte[] document) throws IOException {
      ByteArrayOutputStream b = new ByteArrayOutputStream(document.length / 2 + 32);
      try (GZIPOutputStream z = new GZIPOutputStream(b)) {
        z.write(document);
      }
      return b.toByteArray();
    }

    @Override public byte[] unpack(byte[] wire) throws IOException {
      try (GZIPInputStream z = new GZIPInputStream(new ByteArrayInputStream(wire))) {
        return Body.read(z, -1, limit); // which stops reading a bomb at its patience of 64 MB
      } catch (TooLarge e) {
        throw new IOException("message is over the limit of " + limit + " bytes when it is unpacked");
      }
    }

    @Override public boolean gzipped() {
      return true;
    }

    @Override public int contentFormat() {
      return 42; // application/octet-stream
    }
  }
}
