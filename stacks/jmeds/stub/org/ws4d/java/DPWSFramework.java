// A stub: what src wants of JMEDS 2.0.0, by the names and signatures that JMEDS publishes. It is compiled against, and never run or shipped.
package org.ws4d.java;

import org.ws4d.java.communication.CommunicationManager;

public final class DPWSFramework {
  public static void start(String[] args) {
    throw new UnsupportedOperationException("this is a stub");
  }

  public static CommunicationManager getCommunicationManager(String id) {
    throw new UnsupportedOperationException("this is a stub");
  }
}
