package edgegauge.compact;

/**
 * EXIficient reads schemas with Xerces, whose jar offers itself as everybody's XML parser. A framework that would take the JDK's must go on doing so, or it
 * would be another one under test.
 */
public final class Parsers {
  private Parsers() {}

  /** Names the JDK's own parsers, where nobody has named others; call it before the framework looks for one. */
  public static void keep() {
    String jdk = "com.sun.org.apache.xerces.internal.";
    name("javax.xml.parsers.SAXParserFactory", jdk + "jaxp.SAXParserFactoryImpl");
    name("javax.xml.parsers.DocumentBuilderFactory", jdk + "jaxp.DocumentBuilderFactoryImpl");
    name("javax.xml.datatype.DatatypeFactory", jdk + "jaxp.datatype.DatatypeFactoryImpl");
    name("javax.xml.validation.SchemaFactory:http://www.w3.org/2001/XMLSchema", jdk + "jaxp.validation.XMLSchemaFactory");
    name("org.xml.sax.driver", jdk + "parsers.SAXParser");
  }

  private static void name(String what, String implementation) {
    if (System.getProperty(what) == null) System.setProperty(what, implementation);
  }
}
