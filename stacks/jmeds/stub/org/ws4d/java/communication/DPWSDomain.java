// A stub: what src wants of JMEDS 2.0.0, by the names and signatures that JMEDS publishes. It is compiled against, and never run or shipped.
package org.ws4d.java.communication;

import org.ws4d.java.communication.connection.ip.IPAddress;
import org.ws4d.java.communication.connection.ip.NetworkInterface;

public class DPWSDomain implements ProtocolDomain {
  public DPWSDomain(NetworkInterface iface, IPAddress ipAddress) {
    throw new UnsupportedOperationException("this is a stub");
  }
}
