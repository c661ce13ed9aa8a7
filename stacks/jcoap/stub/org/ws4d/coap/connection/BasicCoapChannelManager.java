// A stub: what src wants of jCoAP, by the names and signatures that jCoAP publishes. It is compiled against, and never run or shipped.
package org.ws4d.coap.connection;

import org.ws4d.coap.interfaces.CoapChannelManager;

public class BasicCoapChannelManager {
  public static CoapChannelManager getInstance() {
    throw new UnsupportedOperationException("this is a stub");
  }
}
