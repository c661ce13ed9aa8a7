// A stub: what src wants of JMEDS 2.0.0, by the names and signatures that JMEDS publishes. It is compiled against, and never run or shipped.
package org.ws4d.java.communication;

public class Discovery {
  public static void addDefaultOutputDomain(ProtocolDomain domain) {
    throw new UnsupportedOperationException("this is a stub");
  }

  public static void clearDefaultOutputDomains() {
    throw new UnsupportedOperationException("this is a stub");
  }
}
