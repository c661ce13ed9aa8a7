package edgegauge.californium;

import java.net.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.eclipse.californium.elements.AddressEndpointContext;
import org.eclipse.californium.elements.Connector;
import org.eclipse.californium.elements.EndpointContext;
import org.eclipse.californium.elements.EndpointContextMatcher;
import org.eclipse.californium.elements.RawData;
import org.eclipse.californium.elements.RawDataChannel;

/**
 * Hands messages through a TimedConnector. Its arguments are "udp" and "tcp", which begin with a new one, "sent HEX" and "received HEX AT". Prints a line for
 * each connector: after each message sent whether the request was, 1 or 0, and after each one received when the response was. Used by stamps_test.go.
 */
final class Stamps implements Connector {
  private RawDataChannel channel;

  public static void main(String[] args) {
    InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 5683);
    EndpointContext peer = new AddressEndpointContext(address);
    Stamps socket = null;
    TimedConnector timed = null;
    for (String arg : args) {
      String[] words = arg.split(" ");
      if (words.length == 1) {
        if (socket != null) System.out.println();
        socket = new Stamps();
        timed = new TimedConnector(socket, arg.equals("tcp"));
        timed.setRawDataReceiver(data -> {});
        timed.arm();
      } else if (words[0].equals("sent")) {
        timed.send(RawData.outbound(Californium.hex(words[1]), peer, null, false));
        System.out.print((timed.firstSent() == 0 ? 0 : 1) + " ");
      } else {
        socket.channel.receiveData(RawData.inbound(Californium.hex(words[1]), peer, false, Long.parseLong(words[2]), address));
        System.out.print(timed.lastReceived() + " ");
      }
    }
    System.out.println();
  }

  @Override public void setRawDataReceiver(RawDataChannel c) {
    channel = c;
  }

  @Override public void send(RawData data) {}

  @Override public void start() {}

  @Override public void stop() {}

  @Override public void destroy() {}

  @Override public void setEndpointContextMatcher(EndpointContextMatcher matcher) {}

  @Override public InetSocketAddress getAddress() {
    return null;
  }

  @Override public String getProtocol() {
    return "UDP";
  }

  @Override public boolean isRunning() {
    return true;
  }

  @Override public void processDatagram(DatagramPacket datagram) {}
}
