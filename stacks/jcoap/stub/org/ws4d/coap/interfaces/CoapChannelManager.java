// A stub: what src wants of jCoAP, by the names and signatures that jCoAP publishes. It is compiled against, and never run or shipped.
package org.ws4d.coap.interfaces;

import java.net.InetAddress;

public interface CoapChannelManager {
  void createServerListener(CoapServer server, int port);

  CoapClientChannel connect(CoapClient client, InetAddress address, int port);
}
