package edgegauge.jcoap;

import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Protobuf;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import java.io.IOException;
import org.ws4d.coap.interfaces.CoapRequest;
import org.ws4d.coap.interfaces.CoapResponse;
import org.ws4d.coap.interfaces.CoapServer;
import org.ws4d.coap.interfaces.CoapServerChannel;
import org.ws4d.coap.messages.CoapMediaType;
import org.ws4d.coap.messages.CoapRequestCode;
import org.ws4d.coap.messages.CoapResponseCode;

/** Answers requests on jCoAP's own thread. Methods that some versions of its interfaces lack carry no Override. */
final class Server implements CoapServer {
  private final Setup setup;
  private final Services services;
  private final ServerLog log;
  private final Protobuf codec;

  Server(Setup setup, Services services, ServerLog log) {
    this.setup = setup;
    this.services = services;
    this.log = log;
    codec = new Protobuf(setup.service);
  }

  @Override public CoapServer onAccept(CoapRequest request) {
    return this;
  }

  @Override public void onRequest(CoapServerChannel channel, CoapRequest request) {
    Exchange x = Exchange.mine().begin();
    if (!("/" + setup.service.name).equals("/" + String.valueOf(request.getUriPath()).replaceAll("^/+|/+$", ""))) {
      refuse(channel, request, CoapResponseCode.Not_Found_404);
      return;
    }
    if (request.getRequestCode() != CoapRequestCode.POST) {
      refuse(channel, request, CoapResponseCode.Method_Not_Allowed_405);
      return;
    }
    if (request.getContentType() != CoapMediaType.octet_stream) {
      refuse(channel, request, CoapResponseCode.Unsupported_Media_Type_415);
      return;
    }
    byte[] body = request.getPayload() == null ? new byte[0] : request.getPayload();
    Message in;
    try {
      long t0 = System.nanoTime();
      in = codec.request(body);
      x.deserialization = System.nanoTime() - t0;
    } catch (Exception e) {
      refuse(channel, request, CoapResponseCode.Bad_Request_400);
      return;
    }
    try {
      answer(channel, request, in, body.length, x);
    } catch (IOException e) {
      refuse(channel, request, CoapResponseCode.Internal_Server_Error_500);
    }
  }

  private void answer(CoapServerChannel channel, CoapRequest request, Message in, int size, Exchange x) throws IOException {
    long t0 = System.nanoTime();
    Message out = services.answer(setup.service, in);
    long t1 = System.nanoTime();
    byte[] body = codec.response(out);
    x.processing = t1 - t0;
    x.serialization = System.nanoTime() - t1;
    x.in = size;
    x.out = body.length;
    CoapResponse response = channel.createResponse(request, CoapResponseCode.Changed_204, CoapMediaType.octet_stream);
    response.setPayload(body);
    log.sending();
    channel.sendMessage(response);
    log.sent(x);
  }

  private static void refuse(CoapServerChannel channel, CoapRequest request, CoapResponseCode code) {
    channel.sendMessage(channel.createResponse(request, code));
  }

  @Override public void onSeparateResponseFailed(CoapServerChannel channel) {}

  public void onReset(CoapRequest request) {}
}
