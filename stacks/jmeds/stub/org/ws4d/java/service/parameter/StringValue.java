// A stub: what src wants of JMEDS 2.0.0, by the names and signatures that JMEDS publishes. It is compiled against, and never run or shipped.
package org.ws4d.java.service.parameter;

public class StringValue extends ParameterValue {
  public String get() {
    throw new UnsupportedOperationException("this is a stub");
  }

  public void set(String value) {
    throw new UnsupportedOperationException("this is a stub");
  }
}
