package edgegauge.jcoap;

import edgegauge.adapter.Caller;
import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Protobuf;
import edgegauge.adapter.Setup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.ws4d.coap.connection.BasicCoapChannelManager;
import org.ws4d.coap.interfaces.CoapClient;
import org.ws4d.coap.interfaces.CoapClientChannel;
import org.ws4d.coap.interfaces.CoapRequest;
import org.ws4d.coap.interfaces.CoapResponse;
import org.ws4d.coap.messages.CoapMediaType;
import org.ws4d.coap.messages.CoapRequestCode;
import org.ws4d.coap.messages.CoapResponseCode;

/** One client channel, kept. Methods that some versions of jCoAP's interface lack carry no Override. */
final class Client implements Caller, CoapClient {
  private final Setup setup;
  private final Protobuf codec;
  private final boolean confirmable;
  private final URI url;
  private final LinkedBlockingQueue<Arrival> arrived = new LinkedBlockingQueue<>();
  private CoapClientChannel channel;
  private int token;

  /** What a callback brought, and when; response is null if the connection failed. */
  private static final class Arrival {
    final long at = System.nanoTime();
    final CoapResponse response;
    final String failure;

    Arrival(CoapResponse response, String failure) {
      this.response = response;
      this.failure = failure;
    }
  }

  Client(Setup setup) {
    this.setup = setup;
    codec = new Protobuf(setup.service);
    url = URI.create(setup.url);
    String c = setup.option("confirmable", "on");
    if (!c.equals("on") && !c.equals("off")) throw new IllegalArgumentException("unknown confirmable \"" + c + "\"; supported: on, off");
    confirmable = c.equals("on");
  }

  @Override public Message call(Message m, Exchange x) throws Exception {
    if (channel == null) channel = BasicCoapChannelManager.getInstance().connect(this, InetAddress.getByName(url.getHost()), url.getPort());
    arrived.clear();
    long t0 = System.nanoTime();
    byte[] body = codec.request(m);
    x.serialization = System.nanoTime() - t0;
    if (body.length > Jcoap.LARGEST) throw new IOException("the message has " + body.length + " B; this adapter sends at most " + Jcoap.LARGEST);
    x.out = body.length;
    CoapRequest request = channel.createRequest(confirmable, CoapRequestCode.POST);
    byte[] mine = {(byte) (++token >> 24), (byte) (token >> 16), (byte) (token >> 8), (byte) token};
    request.setToken(mine);
    request.setUriPath(url.getPath());
    request.setContentType(CoapMediaType.octet_stream);
    request.setPayload(body);
    x.sent = System.nanoTime();
    channel.sendMessage(request);
    Arrival a = await(mine, x.sent + setup.timeout);
    x.done = a.at;
    byte[] payload = a.response.getPayload() == null ? new byte[0] : a.response.getPayload();
    x.in = payload.length;
    CoapResponseCode code = a.response.getResponseCode();
    if (code != CoapResponseCode.Changed_204 && code != CoapResponseCode.Content_205) throw new IOException("CoAP " + code);
    t0 = System.nanoTime();
    Message answer = codec.response(payload);
    x.deserialization = System.nanoTime() - t0;
    return answer;
  }

  /** The response with the token; an earlier one, which came too late, is passed over. */
  private Arrival await(byte[] mine, long end) throws Exception {
    for (long left; (left = end - System.nanoTime()) > 0; ) {
      Arrival a = arrived.poll(left, TimeUnit.NANOSECONDS);
      if (a == null) break;
      if (a.response == null) throw new IOException(a.failure);
      if (java.util.Arrays.equals(mine, a.response.getToken())) return a;
    }
    throw new IOException("no answer within " + setup.timeout / 1_000_000 + " ms");
  }

  @Override public void onResponse(CoapClientChannel from, CoapResponse response) {
    arrived.add(new Arrival(response, ""));
  }

  public void onMCResponse(CoapClientChannel from, CoapResponse response, InetAddress source, int port) {}

  @Override public void onConnectionFailed(CoapClientChannel from, boolean notReachable, boolean resetByServer) {
    arrived.add(new Arrival(null, resetByServer ? "reset by the server" : "the server does not answer"));
  }
}
