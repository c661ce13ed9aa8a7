// A stub: what src wants of JMEDS 2.0.0, by the names and signatures that JMEDS publishes. It is compiled against, and never run or shipped.
package org.ws4d.java.service;

import java.io.IOException;
import org.ws4d.java.communication.CommunicationBinding;
import org.ws4d.java.types.EndpointReference;
import org.ws4d.java.types.QNameSet;

public class DefaultDevice {
  public void setPortTypes(QNameSet types) {
    throw new UnsupportedOperationException("this is a stub");
  }

  public void addFriendlyName(String language, String name) {
    throw new UnsupportedOperationException("this is a stub");
  }

  public void addManufacturer(String language, String name) {
    throw new UnsupportedOperationException("this is a stub");
  }

  public void addBinding(CommunicationBinding binding) {
    throw new UnsupportedOperationException("this is a stub");
  }

  public void addService(LocalService service) {
    throw new UnsupportedOperationException("this is a stub");
  }

  public EndpointReference getEndpointReference() {
    throw new UnsupportedOperationException("this is a stub");
  }

  public void start() throws IOException {
    throw new UnsupportedOperationException("this is a stub");
  }
}
