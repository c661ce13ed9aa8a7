package lab;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import org.kxml2.io.KXmlParser;
import org.xmlpull.v1.XmlPullParser;
import org.xmlpull.v1.XmlPullParserException;

/** SOAP 1.1 as a MIDlet of 2009 writes it: by hand, and reads it: with kXML2. */
public final class Soap {
  private static final String ENVELOPE = "http://schemas.xmlsoap.org/soap/envelope/";
  private static final String LAB = "urn:edgegauge:services:1";

  /** Declared in every message though not used, as the stubs of JSR 172 did that phones of the time had. */
  private static final String CUSTOMARY = " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\"";

  private Soap() {}

  /** A request with one element for each value. */
  public static byte[] request(String service, String element, String[] values) {
    Text t = new Text();
    t.add("<?xml version=\"1.0\" encoding=\"UTF-8\"?><soap:Envelope xmlns:soap=\"").add(ENVELOPE).add("\"").add(CUSTOMARY).add("><soap:Body><");
    t.add(service).add(" xmlns=\"").add(LAB).add("\">");
    for (int i = 0; i < values.length; i++) {
      t.add('<').add(element).add('>');
      escape(t, values[i]);
      t.add("</").add(element).add('>');
    }
    t.add("</").add(service).add("></soap:Body></soap:Envelope>");
    return t.bytes();
  }

  private static void escape(Text t, String s) {
    for (int i = 0; i < s.length(); i++) {
      char c = s.charAt(i);
      if (c == '&') t.add("&amp;");
      else if (c == '<') t.add("&lt;");
      else if (c == '>') t.add("&gt;");
      else if (c == '\r') t.add("&#xD;");
      else t.add(c);
    }
  }

  /** The one value of a response; a fault is an exception with its reason. */
  public static String answer(String service, byte[] b) {
    try {
      KXmlParser p = new KXmlParser();
      p.setFeature(XmlPullParser.FEATURE_PROCESS_NAMESPACES, true);
      p.setInput(new ByteArrayInputStream(b), "UTF-8");
      p.nextTag();
      p.require(XmlPullParser.START_TAG, ENVELOPE, "Envelope");
      p.nextTag();
      if (p.getName().equals("Header") && p.getNamespace().equals(ENVELOPE)) { // Axis2 sends one without content
        p.skipSubTree();
        p.nextTag();
      }
      p.require(XmlPullParser.START_TAG, ENVELOPE, "Body");
      p.nextTag();
      if (p.getName().equals("Fault") && p.getNamespace().equals(ENVELOPE)) throw new RuntimeException("SOAP fault: " + reason(p));
      p.require(XmlPullParser.START_TAG, LAB, service + "Response");
      p.nextTag();
      p.require(XmlPullParser.START_TAG, LAB, service.equals("sum") ? "total" : "text");
      String value = p.nextText();
      p.nextTag();
      p.require(XmlPullParser.END_TAG, LAB, service + "Response");
      p.nextTag();
      p.require(XmlPullParser.END_TAG, ENVELOPE, "Body");
      p.nextTag();
      p.require(XmlPullParser.END_TAG, ENVELOPE, "Envelope");
      return value;
    } catch (XmlPullParserException e) {
      throw new RuntimeException("the response is no answer of " + service + ": " + e.getMessage());
    } catch (IOException e) {
      throw new RuntimeException("the response is cut: " + e.getMessage());
    }
  }

  private static String reason(KXmlParser p) throws XmlPullParserException, IOException {
    while (p.next() != XmlPullParser.END_DOCUMENT) {
      if (p.getEventType() == XmlPullParser.START_TAG && p.getName().equals("faultstring")) return p.nextText();
    }
    return "without a reason";
  }
}
