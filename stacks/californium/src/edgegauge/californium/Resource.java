package edgegauge.californium;

import edgegauge.adapter.Exchange;
import edgegauge.adapter.Message;
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
  private final Codec codec;
  private final boolean observed; // observers hear of every answered request
  private volatile byte[] latest = new byte[0]; // its answer

  Resource(Setup setup, Services services, ServerLog log) {
    super(setup.service.name);
    this.setup = setup;
    this.services = services;
    this.log = log;
    codec = Codec.of(setup);
    observed = Californium.on(setup, "observe", "off");
    if (observed) {
      setObservable(true);
      setObserveType(CoAP.Type.CON);
      getAttributes().setObservable();
    }
  }

  /** The answer of the latest request, for observers. */
  @Override public void handleGET(CoapExchange e) {
    if (observed) e.respond(ResponseCode.CONTENT, latest, codec.format());
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
    if (format != MediaTypeRegistry.UNDEFINED && format != codec.format()) {
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
    Message in;
    long t0 = System.nanoTime(), t1;
    try {
      in = codec.request(payload);
      t1 = System.nanoTime();
    } catch (IOException | IllegalArgumentException bad) {
      refuse(e, ResponseCode.BAD_REQUEST, bad);
      return;
    }
    try {
      Message answer = services.answer(setup.service, in);
      long t2 = System.nanoTime();
      out = codec.response(answer);
      x.serialization = System.nanoTime() - t2;
      x.processing = t2 - t1;
      x.deserialization = t1 - t0;
      x.out = out.length;
    } catch (IllegalArgumentException bad) {
      refuse(e, ResponseCode.BAD_REQUEST, bad);
      return;
    } catch (IOException | RuntimeException failed) {
      refuse(e, ResponseCode.INTERNAL_SERVER_ERROR, failed);
      return;
    }
    log.sending();
    try {
      e.respond(ResponseCode.CHANGED, out, codec.format());
    } finally {
      log.sent(x);
    }
    if (observed) {
      latest = out;
      changed();
    }
  }

  /** In SOAP by a fault, else by words (RFC 7252, section 5.5.2). */
  private void refuse(CoapExchange e, ResponseCode code, Throwable why) {
    byte[] fault = null;
    try {
      fault = codec.fault(code == ResponseCode.BAD_REQUEST, why);
    } catch (IOException unsaid) {
      // a reason that the encoding cannot say: the code says enough
    }
    if (fault != null) e.respond(code, fault, codec.format());
    else e.respond(code, String.valueOf(why.getMessage()));
  }
}
