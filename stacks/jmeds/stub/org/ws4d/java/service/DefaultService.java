// A stub: what src wants of JMEDS 2.0.0, by the names and signatures that JMEDS publishes. It is compiled against, and never run or shipped.
package org.ws4d.java.service;

import org.ws4d.java.communication.CommunicationBinding;
import org.ws4d.java.types.URI;

public class DefaultService implements LocalService {
  public void addBinding(CommunicationBinding binding) {
    throw new UnsupportedOperationException("this is a stub");
  }

  public void setServiceId(URI id) {
    throw new UnsupportedOperationException("this is a stub");
  }

  public void addOperation(Operation operation) {
    throw new UnsupportedOperationException("this is a stub");
  }
}
