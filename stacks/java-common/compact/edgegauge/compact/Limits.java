package edgegauge.compact;

import com.siemens.ct.exi.core.CodingMode;
import com.siemens.ct.exi.core.EXIBodyDecoder;
import com.siemens.ct.exi.core.EXIFactory;
import com.siemens.ct.exi.core.coder.EXIBodyDecoderInOrder;
import com.siemens.ct.exi.core.coder.EXIBodyDecoderReordered;
import com.siemens.ct.exi.core.exceptions.EXIException;
import com.siemens.ct.exi.core.grammars.event.EventType;
import com.siemens.ct.exi.core.io.BitInputStream;
import com.siemens.ct.exi.core.io.channel.AbstractDecoderChannel;
import com.siemens.ct.exi.core.io.channel.ByteDecoderChannel;
import com.siemens.ct.exi.core.io.channel.DecoderChannel;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;

/**
 * EXIficient's decoders on channels that count. Left alone it makes room for whatever length a stream claims, takes integers of any number of octets (in
 * quadratic time), unpacks without end, and with compression keeps a block of any depth before its reader sees an element.
 */
final class Limits {
  private static final int OCTETS = 20; // an integer has 10 at most, a character 3

  private final EXIFactory factory;
  private final EXIBodyDecoder decoder;
  private ByteArrayInputStream in;
  private long left; // octets that may still be unpacked

  Limits(EXIFactory factory) throws EXIException {
    this.factory = factory;
    decoder = factory.getCodingMode() == CodingMode.COMPRESSION ? new Reordered() : new EXIBodyDecoderInOrder(factory);
  }

  void reset(long limit) {
    left = limit;
  }

  /** The decoder of the body that follows in b. */
  EXIBodyDecoder decoder(ByteArrayInputStream b) throws EXIException, IOException {
    in = b;
    if (decoder instanceof Reordered) decoder.setInputStream(b);
    else decoder.setInputChannel(new Channel(new BitInputStream(b), null));
    return decoder;
  }

  /** Whether something stands behind the body. */
  boolean rest() {
    try {
      return decoder instanceof Reordered ? ((Reordered) decoder).rest() : in.available() > 0;
    } catch (IOException e) {
      return true;
    }
  }

  /** With compression. */
  private final class Reordered extends EXIBodyDecoderReordered {
    private InputStream unpacked; // the stream of the last channel

    Reordered() throws EXIException {
      super(factory);
      eventTypes = new Structure();
    }

    @Override public void updateInputStream(InputStream is) throws EXIException, IOException {
      if (inflater != null) inflater.end();
      unpacked = null;
      super.updateInputStream(is);
    }

    @Override public DecoderChannel getNextChannel() throws IOException {
      ended();
      unpacked = ((ByteDecoderChannel) super.getNextChannel()).getInputStream();
      return new Channel(null, unpacked);
    }

    /** Refuses a stream that goes on behind its last value; EXIficient would unpack and drop it. */
    private void ended() throws IOException {
      if (unpacked != null && unpacked.read() >= 0) throw new IOException("something stands behind the values");
    }

    @Override public void decodeEndDocument() throws EXIException {
      try {
        ended();
      } catch (IOException e) {
        throw new EXIException(e);
      }
      unpacked = null;
      super.decodeEndDocument();
    }

    boolean rest() throws IOException {
      return is.available() > 0;
    }
  }

  /** The events of a block, kept before they are read. */
  private static final class Structure extends ArrayList<EventType> {
    private static final long serialVersionUID = 1;
    private int depth;

    @Override public boolean add(EventType e) {
      switch (e) {
        case START_ELEMENT:
        case START_ELEMENT_NS:
        case START_ELEMENT_GENERIC:
        case START_ELEMENT_GENERIC_UNDECLARED:
          if (++depth > Guard.DEPTH) throw new IllegalArgumentException("elements are nested deeper than " + Guard.DEPTH);
          break;
        case END_ELEMENT:
        case END_ELEMENT_UNDECLARED:
          depth--;
          break;
        case START_DOCUMENT:
          depth = 0;
          break;
        default:
      }
      return super.add(e);
    }
  }

  /** EXIficient's BitDecoderChannel and ByteDecoderChannel, counting; one of bits and bytes is null. */
  private final class Channel extends AbstractDecoderChannel {
    private final BitInputStream bits;
    private final InputStream bytes;
    private int octets; // of the integer under way

    Channel(BitInputStream bits, InputStream bytes) {
      this.bits = bits;
      this.bytes = bytes;
    }

    @Override public int decode() throws IOException {
      int b = octet();
      if (b < 128) octets = 0;
      else if (++octets > OCTETS) throw new IOException("a number has too many octets");
      return b;
    }

    private int octet() throws IOException {
      if (bits != null) return bits.read();
      spend(1);
      int b = bytes.read();
      if (b < 0) throw new EOFException("message is cut");
      return b;
    }

    private void spend(long n) throws IOException {
      if ((left -= n) < 0) throw new IOException("message is over the limit when it is unpacked");
    }

    /** A length that no message can keep. */
    private void room(int length) throws IOException {
      if (length < 0 || length > (bits != null ? in.available() + 1L : left)) throw new EOFException("message claims " + length + " octets that it does not have");
    }

    @Override public char[] decodeStringOnly(int length) throws IOException {
      room(length);
      return super.decodeStringOnly(length);
    }

    @Override public byte[] decodeBinary() throws IOException {
      int length = decodeUnsignedInteger();
      room(length);
      byte[] b = new byte[length];
      if (bits != null) {
        bits.read(b, 0, length);
        return b;
      }
      spend(length);
      for (int n = 0, k; n < length; n += k) if ((k = bytes.read(b, n, length - n)) < 0) throw new EOFException("message is cut");
      return b;
    }

    @Override public int decodeNBitUnsignedInteger(int n) throws IOException {
      if (n == 0) return 0;
      if (bits != null) return bits.readBits(n);
      int v = 0;
      for (int at = 0; at < n; at += 8) v += octet() << at;
      return v;
    }

    @Override public boolean decodeBoolean() throws IOException {
      return bits != null ? bits.readBit() == 1 : octet() != 0;
    }

    @Override public void align() throws IOException {
      if (bits != null) bits.align();
    }

    @Override public void skip(long n) throws IOException {
      throw new IOException("skipping is for self-contained elements");
    }
  }
}
