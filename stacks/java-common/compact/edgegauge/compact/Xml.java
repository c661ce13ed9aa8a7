package edgegauge.compact;

import edgegauge.adapter.Decimal;
import edgegauge.adapter.Message;
import edgegauge.adapter.Service;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import javax.xml.stream.XMLStreamWriter;

/**
 * Plain values to XML and back by StAX, in any {@link Form}, bare or in a SOAP envelope, for stacks that have no binding of their own. What is not the
 * message asked for is refused with IOException.
 */
public final class Xml {
  public static final String NAMESPACE = "urn:edgegauge:services:1";
  private static final String SOAP11 = "http://schemas.xmlsoap.org/soap/envelope/", SOAP12 = "http://www.w3.org/2003/05/soap-envelope";

  private final Service service;
  private final Form form;
  private final String envelope; // its namespace; null: none
  private final boolean text;

  /** encoding is a name that Form.of knows. */
  public Xml(Service service, String encoding, long limit) {
    this.service = service;
    form = Form.of(encoding, limit);
    envelope = encoding.equals("soap11") ? SOAP11 : encoding.startsWith("soap12") ? SOAP12 : null;
    text = form instanceof Form.Text;
  }

  public Form form() {
    return form;
  }

  public boolean soap() {
    return envelope != null;
  }

  public byte[] request(Message m) throws IOException {
    return encode(w -> fields(w, m, false), service.name);
  }

  public byte[] response(Message m) throws IOException {
    return encode(w -> fields(w, m, true), service.name + "Response");
  }

  public Message request(byte[] wire) throws IOException {
    return decode(wire, false);
  }

  /** A SOAP fault is an IOException with its code and reason. */
  public Message response(byte[] wire) throws IOException {
    return decode(wire, true);
  }

  /** An envelope that answers what request threw, or what the service did. */
  public byte[] fault(boolean sender, Throwable why) throws IOException {
    boolean old = envelope.equals(SOAP11);
    String reason = String.valueOf(why.getMessage());
    String code = "soap:" + (why instanceof SoapRefusal ? ((SoapRefusal) why).code : sender ? old ? "Client" : "Sender" : old ? "Server" : "Receiver");
    return encode(w -> {
      if (old) {
        element(w, "", "faultcode", code);
        element(w, "", "faultstring", reason);
        return;
      }
      open(w, SOAP12, "Code");
      element(w, SOAP12, "Value", code);
      w.writeEndElement();
      open(w, SOAP12, "Reason");
      open(w, SOAP12, "Text");
      w.writeAttribute("xml", "http://www.w3.org/XML/1998/namespace", "lang", "en");
      characters(w, reason);
      w.writeEndElement();
      w.writeEndElement();
    }, null);
  }

  /** A refusal that has a fault code of its own. */
  private static final class SoapRefusal extends IOException {
    private static final long serialVersionUID = 1;
    final String code;

    SoapRefusal(String code, String reason) {
      super(reason);
      this.code = code;
    }
  }

  private interface Content {
    void write(XMLStreamWriter w) throws XMLStreamException;
  }

  /** A null root is a fault. */
  private byte[] encode(Content content, String root) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream(1024);
    try {
      XMLStreamWriter w = form.writer(out);
      if (!text) w.writeStartDocument();
      if (envelope != null) {
        w.writeStartElement("soap", "Envelope", envelope);
        w.writeNamespace("soap", envelope);
        open(w, envelope, "Body");
      }
      if (root == null) {
        open(w, envelope, "Fault");
      } else {
        w.writeStartElement("", root, NAMESPACE);
        w.writeDefaultNamespace(NAMESPACE);
      }
      content.write(w);
      for (int i = envelope != null ? 3 : 1; i > 0; i--) w.writeEndElement();
      w.writeEndDocument();
      w.close();
    } catch (XMLStreamException | RuntimeException e) {
      throw new IOException(e);
    }
    return form.pack(out.toByteArray());
  }

  private static void open(XMLStreamWriter w, String space, String name) throws XMLStreamException {
    w.writeStartElement(space.equals(SOAP11) || space.equals(SOAP12) ? "soap" : "", name, space);
  }

  private void element(XMLStreamWriter w, String space, String name, String value) throws XMLStreamException {
    open(w, space, name);
    characters(w, value);
    w.writeEndElement();
  }

  /** A carriage return in text would come back as a line feed. */
  private void characters(XMLStreamWriter w, String s) throws XMLStreamException {
    int from = 0;
    for (int i; text && (i = s.indexOf('\r', from)) >= 0; from = i + 1) {
      w.writeCharacters(s.substring(from, i));
      w.writeEntityRef("#xD");
    }
    w.writeCharacters(from == 0 ? s : s.substring(from));
  }

  private void field(XMLStreamWriter w, String name, String value) throws XMLStreamException {
    w.writeStartElement("", name, NAMESPACE);
    characters(w, value);
    w.writeEndElement();
  }

  private void fields(XMLStreamWriter w, Message m, boolean response) throws XMLStreamException {
    switch (service) {
      case SORT:
        for (int n : m.n) field(w, "n", Integer.toString(n));
        break;
      case CONCAT:
        if (response) field(w, "text", m.text);
        else for (String s : m.s) field(w, "s", s);
        break;
      case SUM:
        if (response) field(w, "total", Decimal.text(m.total));
        else for (long k : m.x) field(w, "x", Decimal.text(k));
        break;
      case ECHO:
        field(w, "text", m.text);
        break;
      case TEMPERATURE:
        if (!response) break;
        field(w, "celsius", Decimal.text(m.celsius));
        field(w, "time", Long.toString(m.time));
        break;
      case MONITOR:
        monitor(w, m, response);
        break;
      default:
        field(w, response ? "digest" : "data", Base64.getEncoder().encodeToString(response ? m.digest : m.data));
    }
  }

  private void monitor(XMLStreamWriter w, Message m, boolean response) throws XMLStreamException {
    if (response) {
      field(w, "accepted", Boolean.toString(m.accepted));
    } else {
      field(w, "id", m.id);
      field(w, "status", Integer.toString(m.status));
    }
    field(w, "sequence", Integer.toString(m.sequence));
    if (response) return;
    field(w, "temperature", Decimal.text(m.temperature));
    field(w, "pressure", Decimal.text(m.pressure));
    field(w, "running", Boolean.toString(m.running));
    field(w, "message", m.message);
  }

  private Message decode(byte[] wire, boolean response) throws IOException {
    try {
      XMLStreamReader r = form.reader(form.unpack(wire));
      Reading in = new Reading(r);
      if (envelope != null) {
        if (!in.startOf(envelope, "Envelope") && in.startOf(envelope.equals(SOAP11) ? SOAP12 : SOAP11, "Envelope")) throw new SoapRefusal("VersionMismatch", "envelope is of the other version");
        in.start(envelope, "Envelope");
        if (in.startOf(envelope, "Header")) in.header(envelope);
        in.start(envelope, "Body");
        if (in.startOf(envelope, "Fault")) throw new IOException(in.fault());
      }
      in.start(NAMESPACE, service.name + (response ? "Response" : ""));
      Message m = in.fields(service, response);
      for (int i = envelope != null ? 3 : 1; i > 0; i--) in.end();
      while (r.hasNext()) {
        int event = r.next();
        if (event == XMLStreamConstants.CHARACTERS && !r.isWhiteSpace() || event == XMLStreamConstants.START_ELEMENT) throw new IOException("something stands behind the message");
      }
      return m;
    } catch (XMLStreamException | RuntimeException e) { // a parser throws anything at a message that is none
      throw new IOException(e.getMessage(), e);
    }
  }

  /** Reads elements in order; the next tag is always read already. */
  private static final class Reading {
    private final XMLStreamReader r;
    private int tag;

    Reading(XMLStreamReader r) throws XMLStreamException {
      this.r = r;
      tag = r.nextTag();
    }

    boolean startOf(String space, String name) {
      return tag == XMLStreamConstants.START_ELEMENT && r.getLocalName().equals(name) && space.equals(r.getNamespaceURI());
    }

    void start(String space, String name) throws XMLStreamException {
      if (!startOf(space, name)) throw new XMLStreamException("there is no " + name + " where it should be");
      plain();
      tag = r.nextTag();
    }

    /** xsi:nil and attributes of no namespace are refused, as the contract's decoders do. */
    private void plain() throws XMLStreamException {
      for (int i = 0; i < r.getAttributeCount(); i++) {
        String space = r.getAttributeNamespace(i);
        if (space == null || space.isEmpty()) throw new XMLStreamException("there is an attribute " + r.getAttributeLocalName(i));
        if (space.equals("http://www.w3.org/2001/XMLSchema-instance") && r.getAttributeLocalName(i).equals("nil")) throw new XMLStreamException("there is an xsi:nil");
      }
    }

    void end() throws XMLStreamException {
      if (tag != XMLStreamConstants.END_ELEMENT) throw new XMLStreamException("there is an element too many");
      // The tag behind the last one is the end of the document, which nextTag returns too.
      tag = r.hasNext() ? r.nextTag() : XMLStreamConstants.END_DOCUMENT;
    }

    /** Passes the Header, which has just begun; blocks for us that must be understood are not. */
    void header(String envelope) throws XMLStreamException, IOException {
      for (int depth = 1; depth > 0; ) {
        int event = r.next();
        if (event == XMLStreamConstants.END_ELEMENT) depth--;
        if (event != XMLStreamConstants.START_ELEMENT || ++depth != 2) continue;
        String must = r.getAttributeValue(envelope, "mustUnderstand"), who = r.getAttributeValue(envelope, envelope.equals(SOAP11) ? "actor" : "role");
        boolean ours = who == null || who.isEmpty() || who.endsWith("/next") || who.endsWith("/ultimateReceiver");
        if (ours && must != null && (must.trim().equals("1") || must.trim().equals("true"))) throw new SoapRefusal("MustUnderstand", "header " + r.getLocalName() + " is not understood");
      }
      tag = r.nextTag();
    }

    String fault() throws XMLStreamException {
      String code = null, reason = "";
      for (int depth = 1; depth > 0; ) {
        int event = r.next();
        if (event == XMLStreamConstants.END_ELEMENT) depth--;
        if (event != XMLStreamConstants.START_ELEMENT) continue;
        String name = r.getLocalName();
        if (name.equals("faultcode") || name.equals("Value") && code == null) code = r.getElementText();
        else if (name.equals("faultstring") || name.equals("Text")) reason = r.getElementText();
        else depth++;
      }
      return "fault " + (code == null ? "" : code.substring(code.indexOf(':') + 1).trim()) + ": " + reason;
    }

    private boolean more(String name) {
      return startOf(NAMESPACE, name);
    }

    private String text(String name) throws XMLStreamException {
      if (!more(name)) throw new XMLStreamException("message has no " + name + " where it should be");
      plain();
      String s = r.getElementText();
      tag = r.nextTag();
      return s;
    }

    private long integer(String name, long least, long most) throws XMLStreamException {
      long v = Long.parseLong(number(name, text(name), false));
      if (v < least || v > most) throw new XMLStreamException(name + " " + v + " is out of range");
      return v;
    }

    private int int32(String name) throws XMLStreamException {
      return (int) integer(name, Integer.MIN_VALUE, Integer.MAX_VALUE);
    }

    private long decimal(String name) throws XMLStreamException {
      return Decimal.hundredths(new BigDecimal(number(name, text(name), true)));
    }

    /** Java's own parsers take exponents and the digits of every script. */
    private static String number(String name, String s, boolean point) throws XMLStreamException {
      s = s.trim();
      for (int i = 0; i < s.length(); i++) {
        char c = s.charAt(i);
        if (!(c >= '0' && c <= '9' || i == 0 && (c == '-' || c == '+') || point && c == '.')) throw new XMLStreamException(name + " is no number");
      }
      return s;
    }

    private boolean flag(String name) throws XMLStreamException {
      String s = text(name).trim();
      if (s.equals("true") || s.equals("1")) return true;
      if (s.equals("false") || s.equals("0")) return false;
      throw new XMLStreamException(name + " is no boolean");
    }

    private byte[] bytes(String name) throws XMLStreamException {
      String s = text(name);
      try {
        return Base64.getDecoder().decode(s);
      } catch (IllegalArgumentException e) {
        return Base64.getDecoder().decode(s.replaceAll("[ \t\r\n]", ""));
      }
    }

    private int[] ints(String name) throws XMLStreamException {
      int[] n = new int[16];
      int i = 0;
      for (; more(name); n[i++] = int32(name)) if (i == n.length) n = Arrays.copyOf(n, 2 * i);
      return Arrays.copyOf(n, i);
    }

    private long[] decimals(String name) throws XMLStreamException {
      long[] x = new long[16];
      int i = 0;
      for (; more(name); x[i++] = decimal(name)) if (i == x.length) x = Arrays.copyOf(x, 2 * i);
      return Arrays.copyOf(x, i);
    }

    Message fields(Service service, boolean response) throws XMLStreamException {
      Message m = new Message();
      switch (service) {
        case SORT:
          m.n = ints("n");
          break;
        case CONCAT:
          if (response) {
            m.text = text("text");
            break;
          }
          List<String> all = new ArrayList<>();
          while (more("s")) all.add(text("s"));
          m.s = all.toArray(new String[0]);
          break;
        case SUM:
          if (response) m.total = decimal("total");
          else m.x = decimals("x");
          break;
        case ECHO:
          m.text = text("text");
          break;
        case TEMPERATURE:
          if (!response) break;
          m.celsius = decimal("celsius");
          m.time = integer("time", Long.MIN_VALUE, Long.MAX_VALUE);
          break;
        case MONITOR:
          monitor(m, response);
          break;
        default:
          if (response) m.digest = bytes("digest");
          else m.data = bytes("data");
      }
      return m;
    }

    private void monitor(Message m, boolean response) throws XMLStreamException {
      if (response) {
        m.accepted = flag("accepted");
      } else {
        m.id = text("id");
        m.status = int32("status");
      }
      m.sequence = int32("sequence");
      if (response) return;
      m.temperature = decimal("temperature");
      m.pressure = decimal("pressure");
      m.running = flag("running");
      m.message = text("message");
    }
  }
}
