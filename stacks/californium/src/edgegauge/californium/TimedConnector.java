package edgegauge.californium;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.InetSocketAddress;
import java.util.Arrays;
import org.eclipse.californium.elements.Connector;
import org.eclipse.californium.elements.EndpointContext;
import org.eclipse.californium.elements.EndpointContextMatcher;
import org.eclipse.californium.elements.MessageCallback;
import org.eclipse.californium.elements.RawData;
import org.eclipse.californium.elements.RawDataChannel;

/**
 * Californium's connector with a clock at its edge: when the first datagram of an exchange is handed to it
 * (under DTLS and TCP: when the connection for it is open), and when the last one of its response was received, however
 * many blocks and retransmissions lie between. Notifications, their acknowledgements and late duplicates are no part of it. With DTLS the edge is
 * inside the record layer: sealing and opening records count as transmission.
 */
final class TimedConnector implements Connector {
  private static final int POST = 2;

  private final Connector connector;
  private final boolean tcp;
  private volatile long first, last; // System.nanoTime; 0: none since arm()
  private volatile byte[] awaited;   // token of the request, or of its latest block, that has no response yet; null: none
  private volatile long connecting;  // when opening a connection for the first datagram began; 0: it was open
  private volatile long connection;  // how long that took

  /** tcp: messages are framed as RFC 8323 has it. */
  TimedConnector(Connector connector, boolean tcp) {
    this.connector = connector;
    this.tcp = tcp;
  }

  /** Forgets the exchange before. */
  void arm() {
    first = last = connecting = connection = 0;
    awaited = null;
  }

  long firstSent() {
    return first;
  }

  /** Opening a connection, or DTLS's handshake, before firstSent: 0 if there was none. */
  long connection() {
    return connection;
  }

  long lastReceived() {
    return last;
  }

  @Override public void send(RawData data) {
    boolean post = data.getBytes()[code(data.getBytes())] == POST; // all requests of the services are, blocks too; an observation is none
    if (post) awaited = token(data.getBytes());
    if (first != 0 || !post) {
      connector.send(data);
      return;
    }
    first = System.nanoTime();
    connector.send(RawData.outbound(data.getBytes(), data.getEndpointContext(), new Opening(data), data.isMulticast()));
  }

  @Override public void setRawDataReceiver(RawDataChannel channel) {
    connector.setRawDataReceiver(data -> {
      byte[] token = awaited;
      if (token != null && token.length > 0 && Arrays.equals(token, token(data.getBytes()))) {
        awaited = null;
        last = data.getReceiveNanoTimestamp(); // Subtle: read by the receiving thread right after the datagram; System.nanoTime too
      }
      channel.receiveData(data);
    });
  }

  /** Where a message's code is: second, or over TCP after the length that its first four bits announce. */
  private int code(byte[] message) {
    if (!tcp) return 1;
    int length = (message[0] & 0xff) >> 4;
    return length < 13 ? 1 : length == 13 ? 2 : length == 14 ? 3 : 5;
  }

  /** The token, empty in an acknowledgement alone. What is too short to have one is Californium's to refuse. */
  private byte[] token(byte[] message) {
    int at = code(message) + (tcp ? 1 : 3);
    return at > message.length ? new byte[0] : Arrays.copyOfRange(message, at, at + (message[0] & 15));
  }

  /** Reads the clock when the connector opens a connection for a datagram, and when it is open. */
  private final class Opening implements MessageCallback {
    private final RawData told;

    Opening(RawData told) {
      this.told = told;
    }

    @Override public void onConnecting() {
      connecting = System.nanoTime();
      told.onConnecting();
    }

    @Override public void onContextEstablished(EndpointContext context) {
      long now = System.nanoTime();
      if (connecting != 0) {
        connection = now - connecting;
        connecting = 0;
        first = now;
      }
      told.onContextEstablished(context);
    }

    @Override public void onDtlsRetransmission(int flight) {
      told.onDtlsRetransmission(flight);
    }

    @Override public void onSent() {
      told.onSent();
    }

    @Override public void onError(Throwable error) {
      told.onError(error);
    }
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
