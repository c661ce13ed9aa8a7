package edgegauge.californium;

import edgegauge.adapter.Message;
import edgegauge.adapter.Protobuf;
import edgegauge.adapter.Setup;
import edgegauge.compact.Xml;
import java.io.IOException;
import org.eclipse.californium.core.coap.MediaTypeRegistry;

/** A payload's encoding: protobuf, or XML or SOAP in one of its forms. What is no message is refused with IOException or IllegalArgumentException. */
abstract class Codec {
  abstract byte[] request(Message m) throws IOException;

  abstract Message request(byte[] b) throws IOException;

  abstract byte[] response(Message m) throws IOException;

  abstract Message response(byte[] b) throws IOException;

  /** The Content-Format. */
  abstract int format();

  /** The payload that tells a failure, the sender's or ours; null: plain words do. */
  abstract byte[] fault(boolean sender, Throwable why) throws IOException;

  static Codec of(Setup setup) {
    if (!setup.encoding.equals("protobuf")) return new OfXml(new Xml(setup.service, setup.encoding, setup.bodyLimit));
    return new OfProtobuf(new Protobuf(setup.service));
  }

  private static final class OfProtobuf extends Codec {
    private final Protobuf codec;

    OfProtobuf(Protobuf codec) {
      this.codec = codec;
    }

    @Override byte[] request(Message m) {
      return codec.request(m);
    }

    @Override Message request(byte[] b) throws IOException {
      return codec.request(b);
    }

    @Override byte[] response(Message m) {
      return codec.response(m);
    }

    @Override Message response(byte[] b) throws IOException {
      return codec.response(b);
    }

    @Override int format() {
      return MediaTypeRegistry.APPLICATION_OCTET_STREAM;
    }

    @Override byte[] fault(boolean sender, Throwable why) {
      return null;
    }
  }

  private static final class OfXml extends Codec {
    private final Xml codec;

    OfXml(Xml codec) {
      this.codec = codec;
    }

    @Override byte[] request(Message m) throws IOException {
      return codec.request(m);
    }

    @Override Message request(byte[] b) throws IOException {
      return codec.request(b);
    }

    @Override byte[] response(Message m) throws IOException {
      return codec.response(m);
    }

    @Override Message response(byte[] b) throws IOException {
      return codec.response(b);
    }

    @Override int format() {
      return codec.form().contentFormat();
    }

    @Override byte[] fault(boolean sender, Throwable why) throws IOException {
      return codec.soap() ? codec.fault(sender, why) : null;
    }
  }
}
