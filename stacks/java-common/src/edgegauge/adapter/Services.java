package edgegauge.adapter;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** The services' own work: pure but for io's file and temperature's sensor. */
public final class Services {
  private final Sensor sensor;
  private final Path directory;
  private final long delay; // a known slowness, to prove where it shows
  private final AtomicLong files = new AtomicLong();
  private final ServerLog counts; // of answers that no hook will record; null if hooks do

  public Services(Setup setup) {
    this(setup, null);
  }

  Services(Setup setup, ServerLog counts) {
    this.counts = counts;
    sensor = new Sensor(setup.sensor);
    directory = Paths.get(setup.directory.isEmpty() ? System.getProperty("java.io.tmpdir") : setup.directory);
    delay = setup.option("delay", 0);
  }

  /** Answers one request. A failure is the server's fault, not the request's. */
  public Message answer(Service service, Message in) throws IOException {
    for (long until = System.nanoTime() + delay, left = delay; left > 0; left = until - System.nanoTime()) LockSupport.parkNanos(left);
    Message out = new Message();
    switch (service) {
      case SORT:
        out.n = in.n.clone();
        Arrays.sort(out.n);
        break;
      case CONCAT:
        out.text = String.join("", in.s);
        break;
      case SUM:
        for (long k : in.x) out.total = Math.addExact(out.total, k);
        break;
      case ECHO:
        out.text = in.text;
        break;
      case TEMPERATURE:
        out.celsius = sensor.celsius();
        out.time = System.currentTimeMillis();
        break;
      case MONITOR:
        out.accepted = true;
        out.sequence = in.sequence;
        break;
      case IO:
        out.digest = writeAndReadBack(in.data);
        break;
      case MEMORY:
        out.digest = chase(in.data);
        break;
    }
    if (counts != null) counts.answered();
    return out;
  }

  private byte[] writeAndReadBack(byte[] data) throws IOException {
    Path file = directory.resolve("io-" + ProcessId.get() + "-" + files.incrementAndGet());
    try {
      try (FileChannel c = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
        for (ByteBuffer b = ByteBuffer.wrap(data); b.hasRemaining(); ) c.write(b);
        c.force(true);
      }
      byte[] back;
      try (RandomAccessFile f = new RandomAccessFile(file.toFile(), "r")) {
        back = new byte[(int) f.length()];
        f.readFully(back);
      }
      return sha256(back);
    } finally {
      Files.deleteIfExists(file);
    }
  }

  private static byte[] sha256(byte[] data) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(data);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every Java platform has it
    }
  }

  private static byte[] chase(byte[] data) {
    long h = 0xcbf29ce484222325L; // 14695981039346656037
    int i = 0;
    for (int step = 0; step < data.length; step++) {
      h = (h ^ (data[i] & 0xff)) * 0x100000001b3L;
      i = (int) Long.remainderUnsigned(h, data.length);
    }
    return ByteBuffer.allocate(8).putLong(h).array();
  }

  /** What a right answer to request is; temperature's is not known before. */
  static Message expected(Service service, Message request) throws IOException {
    if (service == Service.TEMPERATURE) return new Message();
    if (service != Service.IO) return new Services(Setup.none()).answer(service, request);
    Message m = new Message();
    m.digest = sha256(request.data);
    return m;
  }

  /** Returns "" if got is right, else in what it is wrong. */
  static String check(Service service, Message want, Message got) {
    switch (service) {
      case SORT:
        return Arrays.equals(want.n, got.n) ? "" : sorted(got.n) ? "answer has other numbers" : "answer is not sorted";
      case CONCAT:
      case ECHO:
        return want.text.equals(got.text) ? "" : "answer has another text";
      case SUM:
        return want.total == got.total ? "" : "answer is " + Decimal.text(got.total) + ", not " + Decimal.text(want.total);
      case MONITOR:
        return !got.accepted ? "answer is not accepted" : want.sequence == got.sequence ? "" : "answer has another sequence";
      case TEMPERATURE:
        return got.time <= 0 ? "answer has no time" : Math.abs(got.celsius) > 30000 ? "answer is " + Decimal.text(got.celsius) + " °C" : "";
      default:
        return Arrays.equals(want.digest, got.digest) ? "" : "answer has another digest";
    }
  }

  private static boolean sorted(int[] n) {
    for (int i = 1; i < n.length; i++) if (n[i - 1] > n[i]) return false;
    return true;
  }
}
