package edgegauge.jmeds;

import edgegauge.adapter.Decimal;
import edgegauge.adapter.Message;
import edgegauge.adapter.Service;
import java.math.BigDecimal;
import org.ws4d.java.schema.ComplexType;
import org.ws4d.java.schema.Element;
import org.ws4d.java.schema.SchemaUtil;
import org.ws4d.java.service.parameter.ParameterValue;
import org.ws4d.java.service.parameter.StringValue;
import org.ws4d.java.types.QName;

/** Messages of monitor and echo as JMEDS's parameter values, which hold everything but binary data and names as text. */
final class Values {
  static final QName DEVICE = new QName("Device", Jmeds.NAMESPACE), SERVICES = new QName("Services", Jmeds.NAMESPACE); // JMEDS has the name first
  private static final String[] ECHO = {"text:string"}, MONITOR = {"id:string", "status:int", "sequence:int", "temperature:decimal", "pressure:decimal", "running:boolean", "message:string"},
      MONITORED = {"accepted:boolean", "sequence:int"};

  private Values() {}

  static String action(Service service, boolean response) {
    return Jmeds.NAMESPACE + "/" + service.name + (response ? "Response" : "");
  }

  /** The contract's element, for the WSDL that JMEDS writes. */
  static Element type(Service service, boolean response) {
    String name = service.name + (response ? "Response" : "");
    ComplexType t = new ComplexType(new QName(name + "Type", Jmeds.NAMESPACE), ComplexType.CONTAINER_SEQUENCE);
    for (String f : service == Service.ECHO ? ECHO : response ? MONITORED : MONITOR) {
      String[] field = f.split(":");
      t.addElement(new Element(new QName(field[0], Jmeds.NAMESPACE), SchemaUtil.getSchemaType(field[1])));
    }
    return new Element(new QName(name, Jmeds.NAMESPACE), t);
  }

  static void write(Service service, boolean response, Message m, ParameterValue to) {
    if (service == Service.ECHO) {
      set(to, "text", m.text);
    } else if (response) {
      set(to, "accepted", Boolean.toString(m.accepted));
      set(to, "sequence", Integer.toString(m.sequence));
    } else {
      set(to, "id", m.id);
      set(to, "status", Integer.toString(m.status));
      set(to, "sequence", Integer.toString(m.sequence));
      set(to, "temperature", Decimal.text(m.temperature));
      set(to, "pressure", Decimal.text(m.pressure));
      set(to, "running", Boolean.toString(m.running));
      set(to, "message", m.message);
    }
  }

  static Message read(Service service, boolean response, ParameterValue from) {
    Message m = new Message();
    if (service == Service.ECHO) {
      m.text = get(from, "text");
    } else if (response) {
      m.accepted = bool(get(from, "accepted"));
      m.sequence = Integer.parseInt(get(from, "sequence").trim());
    } else {
      m.id = get(from, "id");
      m.status = Integer.parseInt(get(from, "status").trim());
      m.sequence = Integer.parseInt(get(from, "sequence").trim());
      m.temperature = hundredths(get(from, "temperature"));
      m.pressure = hundredths(get(from, "pressure"));
      m.running = bool(get(from, "running"));
      m.message = get(from, "message");
    }
    return m;
  }

  private static void set(ParameterValue to, String name, String value) {
    ((StringValue) to.get(name)).set(value);
  }

  private static String get(ParameterValue from, String name) {
    ParameterValue v = from.get(name);
    if (!(v instanceof StringValue)) throw new IllegalArgumentException("no " + name);
    String s = ((StringValue) v).get();
    return s == null ? "" : s;
  }

  private static boolean bool(String s) {
    s = s.trim();
    if (!s.equals("true") && !s.equals("false") && !s.equals("1") && !s.equals("0")) throw new IllegalArgumentException("\"" + s + "\" is not a boolean");
    return s.equals("true") || s.equals("1");
  }

  private static long hundredths(String s) {
    s = s.trim();
    if (s.indexOf('e') >= 0 || s.indexOf('E') >= 0) throw new NumberFormatException("\"" + s + "\" is no xs:decimal");
    return Decimal.hundredths(new BigDecimal(s));
  }
}
