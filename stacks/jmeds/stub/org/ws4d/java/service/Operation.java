// A stub: what src wants of JMEDS 2.0.0, by the names and signatures that JMEDS publishes. It is compiled against, and never run or shipped.
package org.ws4d.java.service;

import org.ws4d.java.communication.TimeoutException;
import org.ws4d.java.schema.Element;
import org.ws4d.java.service.parameter.ParameterValue;
import org.ws4d.java.types.QName;

public abstract class Operation {
  public Operation(String name, QName portType) {
    throw new UnsupportedOperationException("this is a stub");
  }

  public abstract ParameterValue invoke(ParameterValue in) throws InvocationException, TimeoutException;

  public void setInput(Element in) {
    throw new UnsupportedOperationException("this is a stub");
  }

  public void setOutput(Element out) {
    throw new UnsupportedOperationException("this is a stub");
  }

  public ParameterValue createInputValue() {
    throw new UnsupportedOperationException("this is a stub");
  }

  public ParameterValue createOutputValue() {
    throw new UnsupportedOperationException("this is a stub");
  }

  public void setInputAction(String action) {
    throw new UnsupportedOperationException("this is a stub");
  }

  public void setOutputAction(String action) {
    throw new UnsupportedOperationException("this is a stub");
  }
}
