package edgegauge.axis2;

import java.lang.reflect.Field;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import org.apache.axiom.om.OMXMLParserWrapper;
import org.apache.axiom.om.impl.builder.StAXBuilder;

/**
 * Reads what follows the bound element. ADB pulls the message up to its own end tag and no further, so Axis2 alone would answer a message that is cut
 * right behind it, or goes on with garbage.
 */
final class Tail {
  private static final Field PARSER;

  static {
    try {
      PARSER = StAXBuilder.class.getDeclaredField("parser"); // protected, and Axiom hands out no reader that goes on
      PARSER.setAccessible(true);
    } catch (NoSuchFieldException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private Tail() {}

  /** Throws IllegalArgumentException if the message is not well-formed to its end. */
  static void read(OMXMLParserWrapper builder) {
    try {
      XMLStreamReader parser = (XMLStreamReader) PARSER.get(builder);
      while (parser != null && parser.hasNext()) parser.next();
    } catch (XMLStreamException | IllegalAccessException e) {
      throw new IllegalArgumentException("message is not whole: " + e.getMessage(), e);
    }
  }
}
