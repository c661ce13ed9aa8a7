package edgegauge.cxf;

import edgegauge.adapter.Body;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;

/** The content coding gzip. It is part of serialization and deserialization, as the encoding is. */
final class Coding {
  private Coding() {}

  static byte[] encode(byte[] plain) throws IOException {
    ByteArrayOutputStream b = new ByteArrayOutputStream(plain.length / 2 + 32);
    try (GZIPOutputStream z = new GZIPOutputStream(b)) {
      z.write(plain);
    }
    return b.toByteArray();
  }

  /** Refuses what unpacked is over the limit. */
  static byte[] decode(byte[] coded, long limit) throws IOException {
    try (GZIPInputStream z = new GZIPInputStream(new ByteArrayInputStream(coded))) {
      return Body.read(z, -1, limit);
    }
  }
}
