package edgegauge.californium;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.InetSocketAddress;
import org.eclipse.californium.elements.Connector;
import org.eclipse.californium.elements.EndpointContextMatcher;
import org.eclipse.californium.elements.RawData;
import org.eclipse.californium.elements.RawDataChannel;

/**
 * Californium's connector with a clock at its edge: when the first datagram of an exchange is handed to it, and when the last one was received, however
 * many blocks and retransmissions lie between. With DTLS the edge is inside the record layer: sealing and opening records count as transmission.
 */
final class TimedConnector implements Connector {
  private final Connector connector;
  private volatile long first, last; // System.nanoTime; 0: none since arm()

  TimedConnector(Connector connector) {
    this.connector = connector;
  }

  /** Forgets the exchange before. */
  void arm() {
    first = last = 0;
  }

  long firstSent() {
    return first;
  }

  long lastReceived() {
    return last;
  }

  @Override public void send(RawData data) {
    if (first == 0) first = System.nanoTime();
    connector.send(data);
  }

  @Override public void setRawDataReceiver(RawDataChannel channel) {
    connector.setRawDataReceiver(data -> {
      last = data.getReceiveNanoTimestamp(); // Subtle: read by the receiving thread right after the datagram; System.nanoTime too
      channel.receiveData(data);
    });
  }

  @Override public void start() throws IOException {
    connector.start();
  }

  @Override public void stop() {
    connector.stop();
  }

  @Override public void destroy() {
    connector.destroy();
  }

  @Override public void setEndpointContextMatcher(EndpointContextMatcher matcher) {
    connector.setEndpointContextMatcher(matcher);
  }

  @Override public InetSocketAddress getAddress() {
    return connector.getAddress();
  }

  @Override public String getProtocol() {
    return connector.getProtocol();
  }

  @Override public boolean isRunning() {
    return connector.isRunning();
  }

  @Override public void processDatagram(DatagramPacket datagram) {
    connector.processDatagram(datagram);
  }
}
