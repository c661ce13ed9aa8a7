package edgegauge.axis2;

import java.lang.reflect.Field;
import org.apache.axiom.core.DeferredParsingException;
import org.apache.axiom.core.impl.builder.BuilderImpl;
import org.apache.axiom.om.OMXMLParserWrapper;
import org.apache.axiom.om.impl.common.builder.OMXMLParserWrapperImpl;

/**
 * Reads what follows the bound element. ADB pulls the message up to its own end tag and no further, so Axis2 alone would answer a message that is cut
 * right behind it, or goes on with garbage.
 */
final class Tail {
  private static final Field BUILDER;

  static {
    try {
      BUILDER = OMXMLParserWrapperImpl.class.getDeclaredField("builder"); // private; the document cannot be built, since its body is consumed
      BUILDER.setAccessible(true);
    } catch (NoSuchFieldException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private Tail() {}

  /** Throws IllegalArgumentException if the message is not well-formed to its end. */
  static void read(OMXMLParserWrapper wrapper) {
    try {
      BuilderImpl builder = (BuilderImpl) BUILDER.get(wrapper);
      while (!builder.isCompleted()) builder.next();
    } catch (DeferredParsingException | IllegalAccessException e) {
      throw new IllegalArgumentException("message is not whole: " + e.getMessage(), e);
    }
  }
}
