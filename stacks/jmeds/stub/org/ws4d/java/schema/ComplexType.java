// A stub: what src wants of JMEDS 2.0.0, by the names and signatures that JMEDS publishes. It is compiled against, and never run or shipped.
package org.ws4d.java.schema;

import org.ws4d.java.types.QName;

public class ComplexType extends Type {
  public static final int CONTAINER_SEQUENCE = 1;

  public ComplexType(QName name, int container) {
    throw new UnsupportedOperationException("this is a stub");
  }

  public void addElement(Element e) {
    throw new UnsupportedOperationException("this is a stub");
  }
}
