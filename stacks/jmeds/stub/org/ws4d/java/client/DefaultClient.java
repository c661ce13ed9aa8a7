// A stub: what src wants of JMEDS 2.0.0, by the names and signatures that JMEDS publishes. It is compiled against, and never run or shipped.
package org.ws4d.java.client;

import org.ws4d.java.service.reference.DeviceReference;

public class DefaultClient {
  public void searchDevice(SearchParameter wanted) {
    throw new UnsupportedOperationException("this is a stub");
  }

  public void deviceFound(DeviceReference reference, SearchParameter wanted) {
    throw new UnsupportedOperationException("this is a stub");
  }
}
