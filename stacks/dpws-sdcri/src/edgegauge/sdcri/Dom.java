package edgegauge.sdcri;

import edgegauge.adapter.Decimal;
import edgegauge.adapter.Message;
import edgegauge.adapter.Service;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Attr;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/** Messages as DOM elements in the schema's order. Whatever is wrong is an IllegalArgumentException. */
final class Dom {
  private static final ThreadLocal<DocumentBuilder> BUILDER = ThreadLocal.withInitial(() -> {
    try {
      return DocumentBuilderFactory.newDefaultNSInstance().newDocumentBuilder();
    } catch (ParserConfigurationException e) {
      throw new IllegalStateException(e); // the JDK's own always has it
    }
  });

  private Dom() {}

  static Element write(Service service, boolean response, Message m) {
    Document d = BUILDER.get().newDocument();
    Element e = d.createElementNS(Sdcri.NAMESPACE, service.name + (response ? "Response" : ""));
    if (response) writeResponse(service, e, m);
    else writeRequest(service, e, m);
    return e;
  }

  private static void writeRequest(Service service, Element e, Message m) {
    switch (service) {
      case SORT:
        for (int n : m.n) add(e, "n", Integer.toString(n));
        break;
      case CONCAT:
        for (String s : m.s) add(e, "s", s);
        break;
      case SUM:
        for (long k : m.x) add(e, "x", Decimal.text(k));
        break;
      case ECHO:
        add(e, "text", m.text);
        break;
      case TEMPERATURE:
        break;
      case MONITOR:
        add(e, "id", m.id);
        add(e, "status", Integer.toString(m.status));
        add(e, "sequence", Integer.toString(m.sequence));
        add(e, "temperature", Decimal.text(m.temperature));
        add(e, "pressure", Decimal.text(m.pressure));
        add(e, "running", Boolean.toString(m.running));
        add(e, "message", m.message);
        break;
      default:
        add(e, "data", Base64.getEncoder().encodeToString(m.data));
    }
  }

  private static void writeResponse(Service service, Element e, Message m) {
    switch (service) {
      case SORT:
        for (int n : m.n) add(e, "n", Integer.toString(n));
        break;
      case CONCAT:
      case ECHO:
        add(e, "text", m.text);
        break;
      case SUM:
        add(e, "total", Decimal.text(m.total));
        break;
      case TEMPERATURE:
        add(e, "celsius", Decimal.text(m.celsius));
        add(e, "time", Long.toString(m.time));
        break;
      case MONITOR:
        add(e, "accepted", Boolean.toString(m.accepted));
        add(e, "sequence", Integer.toString(m.sequence));
        break;
      default:
        add(e, "digest", Base64.getEncoder().encodeToString(m.digest));
    }
  }

  private static void add(Element to, String name, String text) {
    Document d = to.getOwnerDocument();
    Element e = d.createElementNS(Sdcri.NAMESPACE, name);
    if (!text.isEmpty()) e.appendChild(d.createTextNode(text));
    to.appendChild(e);
  }

  static Message read(Service service, boolean response, Element e) {
    if (!is(e, service.name + (response ? "Response" : ""))) throw new IllegalArgumentException("element is " + e.getLocalName() + " in " + e.getNamespaceURI());
    Fields f = new Fields(e);
    Message m = new Message();
    if (response) readResponse(service, f, m);
    else readRequest(service, f, m);
    f.end();
    return m;
  }

  private static void readRequest(Service service, Fields f, Message m) {
    switch (service) {
      case SORT:
        m.n = f.all("n").stream().mapToInt(Dom::integer).toArray();
        break;
      case CONCAT:
        m.s = f.all("s").toArray(new String[0]);
        break;
      case SUM:
        m.x = f.all("x").stream().mapToLong(Dom::decimal).toArray();
        break;
      case ECHO:
        m.text = f.one("text");
        break;
      case TEMPERATURE:
        break;
      case MONITOR:
        m.id = f.one("id");
        m.status = integer(f.one("status"));
        m.sequence = integer(f.one("sequence"));
        m.temperature = decimal(f.one("temperature"));
        m.pressure = decimal(f.one("pressure"));
        m.running = bool(f.one("running"));
        m.message = f.one("message");
        break;
      default:
        m.data = octets(f.one("data"));
    }
  }

  private static void readResponse(Service service, Fields f, Message m) {
    switch (service) {
      case SORT:
        m.n = f.all("n").stream().mapToInt(Dom::integer).toArray();
        break;
      case CONCAT:
      case ECHO:
        m.text = f.one("text");
        break;
      case SUM:
        m.total = decimal(f.one("total"));
        break;
      case TEMPERATURE:
        m.celsius = decimal(f.one("celsius"));
        m.time = Long.parseLong(f.one("time").trim());
        break;
      case MONITOR:
        m.accepted = bool(f.one("accepted"));
        m.sequence = integer(f.one("sequence"));
        break;
      default:
        m.digest = octets(f.one("digest"));
    }
  }

  private static int integer(String s) {
    return Integer.parseInt(s.trim());
  }

  private static long decimal(String s) {
    String t = s.trim();
    if (t.indexOf('e') >= 0 || t.indexOf('E') >= 0) throw new NumberFormatException("\"" + t + "\" is no xs:decimal");
    return Decimal.hundredths(new BigDecimal(t));
  }

  private static boolean bool(String s) {
    switch (s.trim()) {
      case "true":
      case "1":
        return true;
      case "false":
      case "0":
        return false;
      default:
        throw new IllegalArgumentException("\"" + s + "\" is no boolean");
    }
  }

  private static byte[] octets(String s) {
    return Base64.getDecoder().decode(s.replaceAll("[ \t\r\n]", ""));
  }

  private static boolean is(Node n, String name) {
    return name.equals(n.getLocalName()) && Sdcri.NAMESPACE.equals(n.getNamespaceURI());
  }

  /** An element's children in their order. */
  private static final class Fields {
    private Node at;

    Fields(Element e) {
      attributes(e);
      at = e.getFirstChild();
      skip();
    }

    /** Attributes of other namespaces pass, but not xsi:nil. */
    private static void attributes(Element e) {
      for (int i = 0; i < e.getAttributes().getLength(); i++) {
        Attr a = (Attr) e.getAttributes().item(i);
        boolean nil = "nil".equals(a.getLocalName()) && "http://www.w3.org/2001/XMLSchema-instance".equals(a.getNamespaceURI());
        if (a.getNamespaceURI() == null || Sdcri.NAMESPACE.equals(a.getNamespaceURI()) || nil && bool(a.getValue()))
          throw new IllegalArgumentException("attribute " + a.getName() + " is unknown");
      }
    }

    /** Passes over what may stand between elements. */
    private void skip() {
      while (at != null && at.getNodeType() != Node.ELEMENT_NODE) {
        if ((at.getNodeType() == Node.TEXT_NODE || at.getNodeType() == Node.CDATA_SECTION_NODE) && !at.getNodeValue().trim().isEmpty())
          throw new IllegalArgumentException("text between elements");
        at = at.getNextSibling();
      }
    }

    String one(String name) {
      if (at == null || !is(at, name)) throw new IllegalArgumentException("element " + name + " is missing");
      attributes((Element) at);
      for (Node n = at.getFirstChild(); n != null; n = n.getNextSibling())
        if (n.getNodeType() == Node.ELEMENT_NODE) throw new IllegalArgumentException("an element stands in " + name);
      String text = at.getTextContent();
      at = at.getNextSibling();
      skip();
      return text;
    }

    List<String> all(String name) {
      List<String> l = new ArrayList<>();
      while (at != null && is(at, name)) l.add(one(name));
      return l;
    }

    void end() {
      if (at != null) throw new IllegalArgumentException("element " + at.getLocalName() + " is unknown or has another place");
    }
  }
}
