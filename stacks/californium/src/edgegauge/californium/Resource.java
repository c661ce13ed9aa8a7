package edgegauge.californium;

import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
import edgegauge.adapter.Protobuf;
import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;
import java.io.IOException;
import org.eclipse.californium.core.CoapResource;
import org.eclipse.californium.core.coap.CoAP;
import org.eclipse.californium.core.coap.CoAP.ResponseCode;
import org.eclipse.californium.core.coap.MediaTypeRegistry;
import org.eclipse.californium.core.server.resources.CoapExchange;

/** One service as a CoAP resource: Californium's handlePOST is the hook, the payload is whole when it is called. */
final class Resource extends CoapResource {
  private final Setup setup;
  private final Services services;
  private final ServerLog log;
  private final Protobuf codec;
  private final boolean observed; // observers hear of every answered request
  private volatile byte[] latest = new byte[0]; // its answer

  Resource(Setup setup, Services services, ServerLog log) {
    super(setup.service.name);
    this.setup = setup;
    this.services = services;
    this.log = log;
    codec = new Protobuf(setup.service);
    observed = Californium.on(setup, "observe", "off");
    if (observed) {
      setObservable(true);
      setObserveType(CoAP.Type.CON);
      getAttributes().setObservable();
    }
  }

  /** The answer of the latest request, for observers. */
  @Override public void handleGET(CoapExchange e) {
    if (observed) e.respond(ResponseCode.CONTENT, latest, MediaTypeRegistry.APPLICATION_OCTET_STREAM);
    else e.respond(ResponseCode.METHOD_NOT_ALLOWED);
  }

  @Override public void handlePOST(CoapExchange e) {
    Exchange x = Exchange.mine().begin();
    if (Oscore.wanted(setup) && !e.getRequestOptions().hasOscore()) {
      e.respond(ResponseCode.UNAUTHORIZED);
      return;
    }
    byte[] payload = e.getRequestPayload();
    x.in = payload.length;
    int format = e.getRequestOptions().getContentFormat();
    if (format != MediaTypeRegistry.UNDEFINED && format != MediaTypeRegistry.APPLICATION_OCTET_STREAM) {
      e.respond(ResponseCode.UNSUPPORTED_CONTENT_FORMAT);
      return;
    }
    if (x.in > setup.bodyLimit) {
      e.respond(ResponseCode.REQUEST_ENTITY_TOO_LARGE);
      return;
    }
    answer(e, x, payload);
  }

  private void answer(CoapExchange e, Exchange x, byte[] payload) {
    byte[] out;
    try {
      long t0 = System.nanoTime();
      Message in = codec.request(payload);
      long t1 = System.nanoTime();
      Message answer = services.answer(setup.service, in);
      long t2 = System.nanoTime();
      out = codec.response(answer);
      x.serialization = System.nanoTime() - t2;
      x.processing = t2 - t1;
      x.deserialization = t1 - t0;
      x.out = out.length;
    } catch (com.google.protobuf.InvalidProtocolBufferException | IllegalArgumentException bad) {
      e.respond(ResponseCode.BAD_REQUEST);
      return;
    } catch (IOException | RuntimeException failed) {
      e.respond(ResponseCode.INTERNAL_SERVER_ERROR, String.valueOf(failed.getMessage()));
      return;
    }
    log.sending();
    try {
      e.respond(ResponseCode.CHANGED, out, MediaTypeRegistry.APPLICATION_OCTET_STREAM);
    } finally {
      log.sent(x);
    }
    if (observed) {
      latest = out;
      changed();
    }
  }
}
