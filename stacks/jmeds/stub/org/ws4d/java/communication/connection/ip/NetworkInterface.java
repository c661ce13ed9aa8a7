// A stub: what src wants of JMEDS 2.0.0, by the names and signatures that JMEDS publishes. It is compiled against, and never run or shipped.
package org.ws4d.java.communication.connection.ip;

public class NetworkInterface {
  public NetworkInterface(String name, boolean supportsMulticast, boolean isUp, boolean isLoopback) {
    throw new UnsupportedOperationException("this is a stub");
  }
}
