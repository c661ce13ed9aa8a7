package edgegauge.adapter;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/** The encoding "text" of contract/README.md: each value on a line of its own. */
public final class Lines {
  public static final String TYPE = "application/octet-stream";

  private final Service service;

  public Lines(Service service) {
    this.service = service;
  }

  public byte[] request(Message m) {
    StringBuilder b = new StringBuilder();
    switch (service) {
      case SORT:
        for (int n : m.n) b.append(n).append('\n');
        break;
      case CONCAT:
        for (String s : m.s) text(b, s);
        break;
      case SUM:
        for (long k : m.x) b.append(Decimal.text(k)).append('\n');
        break;
      case ECHO:
        text(b, m.text);
        break;
      case TEMPERATURE:
        break;
      case MONITOR:
        text(b, m.id).append(m.status).append('\n').append(m.sequence).append('\n').append(Decimal.text(m.temperature)).append('\n')
            .append(Decimal.text(m.pressure)).append('\n').append(m.running).append('\n');
        text(b, m.message);
        break;
      default:
        b.append(Base64.getEncoder().encodeToString(m.data)).append('\n');
    }
    return b.toString().getBytes(StandardCharsets.UTF_8);
  }

  public byte[] response(Message m) {
    StringBuilder b = new StringBuilder();
    switch (service) {
      case SORT:
        for (int n : m.n) b.append(n).append('\n');
        break;
      case CONCAT:
      case ECHO:
        text(b, m.text);
        break;
      case SUM:
        b.append(Decimal.text(m.total)).append('\n');
        break;
      case TEMPERATURE:
        b.append(Decimal.text(m.celsius)).append('\n').append(m.time).append('\n');
        break;
      case MONITOR:
        b.append(m.accepted).append('\n').append(m.sequence).append('\n');
        break;
      default:
        b.append(Base64.getEncoder().encodeToString(m.digest)).append('\n');
    }
    return b.toString().getBytes(StandardCharsets.UTF_8);
  }

  /** Refuses what is cut, too much, or of another kind. */
  public Message request(byte[] bytes) throws IOException {
    Reader r = new Reader(bytes);
    Message m = new Message();
    switch (service) {
      case SORT:
        m.n = r.ints();
        break;
      case CONCAT:
        List<String> s = new ArrayList<>();
        while (r.more()) s.add(r.text());
        m.s = s.toArray(new String[0]);
        break;
      case SUM:
        List<Long> x = new ArrayList<>();
        while (r.more()) x.add(r.decimal());
        m.x = x.stream().mapToLong(Long::longValue).toArray();
        break;
      case ECHO:
        m.text = r.text();
        break;
      case TEMPERATURE:
        break;
      case MONITOR:
        m.id = r.text();
        m.status = r.integer();
        m.sequence = r.integer();
        m.temperature = r.decimal();
        m.pressure = r.decimal();
        m.running = r.bool();
        m.message = r.text();
        break;
      default:
        m.data = r.bytes();
    }
    r.end();
    return m;
  }

  public Message response(byte[] bytes) throws IOException {
    Reader r = new Reader(bytes);
    Message m = new Message();
    switch (service) {
      case SORT:
        m.n = r.ints();
        break;
      case CONCAT:
      case ECHO:
        m.text = r.text();
        break;
      case SUM:
        m.total = r.decimal();
        break;
      case TEMPERATURE:
        m.celsius = r.decimal();
        m.time = Long.parseLong(r.line());
        break;
      case MONITOR:
        m.accepted = r.bool();
        m.sequence = r.integer();
        break;
      default:
        m.digest = r.bytes();
    }
    r.end();
    return m;
  }

  private static StringBuilder text(StringBuilder b, String s) {
    boolean plain = s.indexOf('\\') < 0 && s.indexOf('\n') < 0;
    return b.append(plain ? s : s.replace("\\", "\\\\").replace("\n", "\\n")).append('\n');
  }

  /** What is wrong is an IOException or an IllegalArgumentException. */
  private static final class Reader {
    private final String s;
    private int at;

    Reader(byte[] b) throws CharacterCodingException {
      s = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(b)).toString();
    }

    boolean more() {
      return at < s.length();
    }

    String line() throws IOException {
      int end = s.indexOf('\n', at);
      if (end < 0) throw new IOException("line is cut or missing at character " + at);
      String line = s.substring(at, end);
      at = end + 1;
      return line;
    }

    void end() throws IOException {
      if (more()) throw new IOException("something stands after the message at character " + at);
    }

    int[] ints() throws IOException {
      int[] n = new int[16];
      int count = 0;
      while (more()) {
        if (count == n.length) n = java.util.Arrays.copyOf(n, 2 * count);
        n[count++] = integer();
      }
      return java.util.Arrays.copyOf(n, count);
    }

    int integer() throws IOException {
      return Integer.parseInt(line());
    }

    long decimal() throws IOException {
      String line = line();
      if (line.indexOf('e') >= 0 || line.indexOf('E') >= 0) throw new IOException("decimal has an exponent: " + line);
      return Decimal.hundredths(new BigDecimal(line));
    }

    boolean bool() throws IOException {
      String line = line();
      if (!line.equals("true") && !line.equals("false")) throw new IOException("\"" + line + "\" is no boolean");
      return line.equals("true");
    }

    byte[] bytes() throws IOException {
      return Base64.getDecoder().decode(line());
    }

    String text() throws IOException {
      String line = line();
      if (line.indexOf('\\') < 0) return line;
      StringBuilder b = new StringBuilder();
      for (int i = 0; i < line.length(); i++) {
        char c = line.charAt(i);
        if (c == '\\') {
          c = ++i < line.length() ? line.charAt(i) : 0;
          if (c != '\\' && c != 'n') throw new IOException("no such escape");
          if (c == 'n') c = '\n';
        }
        b.append(c);
      }
      return b.toString();
    }
  }
}
