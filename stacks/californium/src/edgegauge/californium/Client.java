package edgegauge.californium;

import edgegauge.adapter.Caller;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Setup;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.eclipse.californium.core.CoapClient;
import org.eclipse.californium.core.CoapHandler;
import org.eclipse.californium.core.CoapObserveRelation;
import org.eclipse.californium.core.CoapResponse;
import org.eclipse.californium.core.coap.CoAP.ResponseCode;
import org.eclipse.californium.core.coap.Request;
import org.eclipse.californium.core.network.CoapEndpoint;
import org.eclipse.californium.elements.config.Configuration;
import org.eclipse.californium.oscore.OSCoreCtxDB;
import org.eclipse.californium.oscore.OSException;

/** A CoapClient on a socket of its own. */
final class Client implements Caller {
  private final Setup setup;
  private final Configuration conf;
  private final Codec codec;
  private final CoapClient client = new CoapClient();
  private final OSCoreCtxDB contexts; // null: no OSCORE
  private final boolean confirmable, observes;
  private final Semaphore heard = new Semaphore(0); // a permit for every notification
  private CoapEndpoint endpoint;
  private TimedConnector socket;

  Client(Setup setup, Configuration conf) throws OSException {
    this.setup = setup;
    this.conf = conf;
    codec = Codec.of(setup);
    contexts = Oscore.client(setup);
    confirmable = Californium.on(setup, "confirmable", "on");
    observes = Californium.on(setup, "observe", "off");
    client.setTimeout(Math.max(1, setup.timeout / 1_000_000));
  }

  @Override public Message call(Message m, Exchange x) throws Exception {
    if (endpoint == null) {
      open();
      x.connection = System.nanoTime() - x.begun;
    }
    return exchange(m, x);
  }

  @Override public void finished() {
    if (endpoint == null || !setup.connection.equals("per-request")) return;
    endpoint.destroy();
    endpoint = null;
  }

  private Message exchange(Message m, Exchange x) throws Exception {
    long t0 = System.nanoTime();
    byte[] body = codec.request(m);
    x.serialization = System.nanoTime() - t0;
    x.out = body.length;
    Request request = Request.newPost();
    request.setConfirmable(confirmable);
    request.setURI(setup.url);
    request.getOptions().setContentFormat(codec.format());
    if (contexts != null) request.getOptions().setOscore(new byte[0]); // asks for protection
    request.setPayload(body);
    socket.arm();
    CoapResponse response = client.advanced(request);
    x.sent = socket.firstSent();
    x.connection += socket.connection();
    if (response == null) throw new IOException("no answer within " + setup.timeout / 1_000_000 + " ms");
    x.done = socket.lastReceived();
    byte[] payload = response.getPayload();
    x.in = payload.length;
    if (response.getCode() != ResponseCode.CHANGED && response.getCode() != ResponseCode.CONTENT)
      throw new IOException("CoAP " + response.getCode() + " " + words(response));
    t0 = System.nanoTime();
    Message answer = codec.response(payload);
    x.deserialization = System.nanoTime() - t0;
    if (observes && !heard.tryAcquire(setup.timeout, TimeUnit.NANOSECONDS)) throw new IOException("no notification of the request came");
    return answer;
  }

  /** What a refusal says: a fault's code and reason, or its text. */
  private String words(CoapResponse response) {
    if (response.getOptions().getContentFormat() != codec.format()) return response.getResponseText();
    try {
      codec.response(response.getPayload());
      return "";
    } catch (IOException | IllegalArgumentException fault) {
      return fault.getMessage();
    }
  }

  private void open() throws Exception {
    socket = new TimedConnector(Californium.connector(setup, conf, new InetSocketAddress(source(), 0), false), Californium.tcp(setup));
    endpoint = Californium.endpoint(setup, conf, socket, contexts);
    endpoint.start();
    client.setEndpoint(endpoint);
    if (observes) observe();
  }

  /** The address of this machine that the server is asked from: on any other, the socket would hear strangers. */
  private InetAddress source() throws Exception {
    URI server = new URI(setup.url);
    try (DatagramSocket s = new DatagramSocket()) {
      s.connect(InetAddress.getByName(server.getHost()), Math.max(1, server.getPort())); // sends nothing
      return s.getLocalAddress();
    }
  }

  /** Registers, and waits for the first state. What follows quickly may be told as one: a request waits for its own. */
  private void observe() throws Exception {
    heard.drainPermits();
    client.setURI(setup.url);
    CoapObserveRelation relation = client.observeAndWait(new CoapHandler() {
      @Override public void onLoad(CoapResponse state) {
        heard.release();
      }

      @Override public void onError() {}
    });
    if (relation.isCanceled() || !heard.tryAcquire(setup.timeout, TimeUnit.NANOSECONDS)) throw new IOException("the resource cannot be observed");
  }
}
