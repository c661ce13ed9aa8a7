package edgegauge.adapter;

import java.io.FileInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A serial line of 9600 baud, asked "T\n" and answering "21.50\n". What is not such a line within 2 s is a failure: the line is closed, and the next
 * reading opens it anew and waits until it is silent, so that a late or endless answer is never taken for the next one. Java has no read with a time
 * limit on a file, so the line is asked every 0.1 ms whether a byte is there.
 */
final class SensorLine {
  private static final long LIMIT = TimeUnit.SECONDS.toNanos(2), SILENCE = TimeUnit.MILLISECONDS.toNanos(30);

  private final String device;
  private FileInputStream in;
  private FileChannel out;

  SensorLine(String device) {
    this.device = device;
  }

  /** Hundredths of a degree. One reader at a time. */
  synchronized long read() throws IOException {
    boolean kept = in != null;
    long until = System.nanoTime() + LIMIT;
    try {
      try {
        return ask(until);
      } catch (Gone e) {
        if (!kept) throw e;
        close(); // unplugged since the last reading, and perhaps plugged in again
        return ask(until);
      }
    } catch (IOException e) {
      close();
      throw new IOException("sensor " + device + " " + e.getMessage(), e);
    }
  }

  private long ask(long until) throws IOException {
    boolean opened = in == null;
    if (opened) open();
    if (opened || waiting() > 0) silent(until);
    try {
      out.write(ByteBuffer.wrap(new byte[] {'T', '\n'}));
    } catch (IOException e) {
      throw new Gone(e);
    }
    StringBuilder s = new StringBuilder();
    for (int b; (b = next(until)) != '\n'; s.append((char) b)) if (s.length() == 31) throw new IOException("babbles");
    long celsius = parse(s.toString().trim());
    if (waiting() > 0) throw new IOException("babbles"); // and so did what we took for the answer
    return celsius;
  }

  private void open() throws IOException {
    // Subtle: opening a file that is not there for writing would make one.
    if (!Files.exists(Paths.get(device)) || Files.isRegularFile(Paths.get(device))) throw new IOException("is no serial line: no such device");
    Process stty = new ProcessBuilder("stty", "-F", device, "9600", "raw", "-echo", "clocal", "-hupcl").redirectErrorStream(true).start();
    try {
      if (!stty.waitFor(2, TimeUnit.SECONDS) || stty.exitValue() != 0) throw new IOException("is no serial line: stty refuses it");
    } catch (InterruptedException e) {
      throw new IOException("was interrupted", e);
    } finally {
      stty.destroyForcibly();
    }
    out = FileChannel.open(Paths.get(device), StandardOpenOption.WRITE);
    in = new FileInputStream(device);
  }

  private void close() throws IOException {
    try {
      if (in != null) in.close();
      if (out != null) out.close();
    } finally {
      in = null;
      out = null;
    }
  }

  private int waiting() throws IOException {
    try {
      return in.available();
    } catch (IOException e) {
      throw new Gone(e);
    }
  }

  private int next(long until) throws IOException {
    while (waiting() == 0) {
      if (System.nanoTime() > until) throw new IOException("was silent for 2 s");
      LockSupport.parkNanos(100_000);
    }
    int b = in.read();
    if (b < 0) throw new Gone(null);
    return b;
  }

  private void silent(long until) throws IOException {
    byte[] lost = new byte[256];
    for (long last = System.nanoTime(); System.nanoTime() - last < SILENCE; LockSupport.parkNanos(1_000_000)) {
      if (waiting() == 0) continue;
      if (in.read(lost) < 0) throw new Gone(null);
      last = System.nanoTime();
      if (last > until) throw new IOException("babbles");
    }
  }

  /** A temperature with a fraction, in the range of thermometers: half a line may look like a number, but seldom like this. */
  private static long parse(String s) throws IOException {
    if (!s.matches("-?[0-9]{1,4}\\.[0-9]{2}")) throw new IOException("answered no temperature: " + s);
    double v = Double.parseDouble(s);
    if (v < -273.15 || v > 1000) throw new IOException("answered no temperature: " + s);
    return Sensor.fromMilli(v * 1000);
  }

  /** The line is not there any more. */
  private static final class Gone extends IOException {
    Gone(IOException e) {
      super("is gone" + (e == null ? "" : ": " + e.getMessage()), e);
    }
  }
}
