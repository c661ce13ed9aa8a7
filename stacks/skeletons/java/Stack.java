import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * A stack for edgegauge: the services echo and monitor, as JSON over HTTP/1.1. It speaks the adapter protocol (stacks/PROTOCOL.md): one JSON object per
 * line on stdin and stdout. Replace the parts marked YOUR FRAMEWORK; keep the timing points.
 */
public final class Stack {
  private static final String VERSION = "0.1"; // YOUR FRAMEWORK: its version
  private static final String JSON = "application/json";

  private Stack() {}

  static long now() {
    return System.nanoTime(); // monotonic
  }

  static void waitUntil(long instant) {
    for (long left; (left = instant - now()) > 0; ) LockSupport.parkNanos(left);
  }

  /** What the contract does not allow, or this stack does not support. */
  static final class Refused extends Exception {
    private static final long serialVersionUID = 1;

    Refused(String why) {
      super(why);
    }
  }

  // Messages generated from a seed (stacks/contract/README.md). Decimals are in hundredths.

  private static final String MIXED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

  static final class SplitMix {
    private long state;

    SplitMix(long seed) {
      state = seed;
    }

    long next() {
      long z = state += 0x9E3779B97F4A7C15L;
      z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
      z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
      return z ^ z >>> 31;
    }

    long below(long n) {
      return Long.remainderUnsigned(next(), n);
    }

    String letters(long n, String of) {
      StringBuilder b = new StringBuilder();
      for (long i = 0; i < n; i++) b.append(of.charAt((int) below(of.length())));
      return b.toString();
    }
  }

  enum Kind { TEXT, INT32, DECIMAL, BOOLEAN }

  private static final Map<String, Kind> ECHO = fields("text", Kind.TEXT);
  private static final Map<String, Kind> MONITOR_REQUEST = fields("id", Kind.TEXT, "status", Kind.INT32, "sequence", Kind.INT32,
      "temperature", Kind.DECIMAL, "pressure", Kind.DECIMAL, "running", Kind.BOOLEAN, "message", Kind.TEXT);
  private static final Map<String, Kind> MONITOR_RESPONSE = fields("accepted", Kind.BOOLEAN, "sequence", Kind.INT32);

  private static Map<String, Kind> fields(Object... namesAndKinds) {
    Map<String, Kind> m = new LinkedHashMap<>();
    for (int i = 0; i < namesAndKinds.length; i += 2) m.put((String) namesAndKinds[i], (Kind) namesAndKinds[i + 1]);
    return m;
  }

  static Map<String, Kind> request(String service) {
    return service.equals("echo") ? ECHO : MONITOR_REQUEST;
  }

  static Map<String, Kind> response(String service) {
    return service.equals("echo") ? ECHO : MONITOR_RESPONSE;
  }

  static Map<String, Object> fromSeed(String service, long seed, long n) {
    SplitMix r = new SplitMix(seed);
    Map<String, Object> m = new LinkedHashMap<>();
    if (service.equals("echo")) {
      m.put("text", r.letters(n, MIXED));
      return m;
    }
    m.put("id", r.letters(8, MIXED.substring(26)));
    m.put("status", r.below(4));
    m.put("sequence", r.next() >>> 33);
    m.put("temperature", r.below(10000) - 2000);
    m.put("pressure", 90000 + r.below(20000));
    m.put("running", r.below(2) == 1);
    m.put("message", r.letters(n, MIXED));
    return m;
  }

  /** The service's own work. */
  static Map<String, Object> answer(String service, Map<String, Object> request) {
    Map<String, Object> m = new LinkedHashMap<>();
    if (service.equals("echo")) {
      m.put("text", request.get("text"));
      return m;
    }
    m.put("accepted", true);
    m.put("sequence", request.get("sequence"));
    return m;
  }

  // The encoding. YOUR FRAMEWORK: its own serializer, if it writes the canonical form.

  static byte[] encode(Map<String, Object> message, Map<String, Kind> fields) {
    StringBuilder b = new StringBuilder("{");
    fields.forEach((name, kind) -> {
      if (b.length() > 1) b.append(',');
      b.append('"').append(name).append("\":");
      Object value = message.get(name);
      if (kind == Kind.TEXT) quote(b, (String) value);
      else if (kind == Kind.DECIMAL) b.append(BigDecimal.valueOf((Long) value, 2).toPlainString());
      else b.append(value);
    });
    return b.append('}').toString().getBytes(StandardCharsets.UTF_8);
  }

  static StringBuilder quote(StringBuilder b, String s) {
    b.append('"');
    for (int i = 0; i < s.length(); i++) {
      char c = s.charAt(i);
      int e = "\"\\\b\f\n\r\t".indexOf(c);
      if (e >= 0) b.append('\\').append("\"\\bfnrt".charAt(e));
      else if (c < ' ') b.append(String.format("\\u%04x", (int) c));
      else b.append(c);
    }
    return b.append('"');
  }

  static Map<String, Object> decode(byte[] body, Map<String, Kind> fields) throws Refused {
    Map<String, Object> object, out = new LinkedHashMap<>();
    try {
      object = Reader.object(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString());
    } catch (CharacterCodingException e) {
      throw new Refused("not UTF-8");
    }
    for (Map.Entry<String, Kind> f : fields.entrySet()) {
      if (!object.containsKey(f.getKey())) throw new Refused("no " + f.getKey());
      out.put(f.getKey(), checked(object.get(f.getKey()), f.getValue(), f.getKey()));
    }
    return out;
  }

  private static final BigDecimal MOST = BigDecimal.valueOf(10_000_000_000_000L);

  static Object checked(Object value, Kind kind, String field) throws Refused {
    if (kind == Kind.TEXT && value instanceof String && paired((String) value)) return value;
    if (kind == Kind.BOOLEAN && value instanceof Boolean) return value;
    if (value instanceof BigDecimal && (kind == Kind.INT32 || kind == Kind.DECIMAL)) {
      BigDecimal d = (BigDecimal) value;
      if (d.precision() - (long) d.scale() < 15 && d.abs().compareTo(MOST) <= 0) { // a huge exponent would become as many digits
        if (kind == Kind.DECIMAL) return d.scale() > 400 ? 0L : d.setScale(2, RoundingMode.HALF_UP).unscaledValue().longValue();
        if (d.signum() == 0 || d.stripTrailingZeros().scale() <= 0 && d.longValue() == d.intValue()) return d.longValue();
      }
    }
    throw new Refused("no " + kind + " in " + field);
  }

  private static boolean paired(String s) {
    return StandardCharsets.UTF_8.newEncoder().canEncode(s);
  }

  /** Reads JSON (RFC 8259): Map, List, String, Boolean, null; numbers are BigDecimal. */
  static final class Reader {
    private static final java.util.regex.Pattern NUMBER = java.util.regex.Pattern.compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]{1,9})?");
    private final String s;
    private int at;

    private Reader(String s) {
      this.s = s;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(String text) throws Refused {
      Reader r = new Reader(text);
      Object v = r.value(0);
      if (r.peek() != 0 || r.at < text.length() || !(v instanceof Map)) throw r.wrong("one object");
      return (Map<String, Object>) v;
    }

    private Refused wrong(String wanted) {
      return new Refused("not JSON: " + wanted + " expected at " + at);
    }

    /** The next character that is not white space; 0 at the end. */
    private char peek() {
      while (at < s.length() && " \t\r\n".indexOf(s.charAt(at)) >= 0) at++;
      return at < s.length() ? s.charAt(at) : 0;
    }

    private boolean take(String w) {
      peek();
      if (!s.startsWith(w, at)) return false;
      at += w.length();
      return true;
    }

    private Object value(int depth) throws Refused {
      if (depth > 64) throw wrong("less depth");
      char c = peek();
      if (c == '"') return string();
      if (take("{")) {
        Map<String, Object> m = new LinkedHashMap<>();
        if (take("}")) return m;
        do {
          peek();
          String name = string();
          if (!take(":")) throw wrong("a colon");
          m.put(name, value(depth + 1));
        } while (take(","));
        if (!take("}")) throw wrong("}");
        return m;
      }
      if (take("[")) {
        List<Object> l = new ArrayList<>();
        if (take("]")) return l;
        do l.add(value(depth + 1)); while (take(","));
        if (!take("]")) throw wrong("]");
        return l;
      }
      if (take("true")) return true;
      if (take("false")) return false;
      if (take("null")) return null;
      java.util.regex.Matcher n = NUMBER.matcher(s).region(at, s.length());
      if (!n.lookingAt()) throw wrong("a value");
      at = n.end();
      return new BigDecimal(n.group());
    }

    private String string() throws Refused {
      if (at == s.length() || s.charAt(at++) != '"') throw wrong("a string");
      StringBuilder b = new StringBuilder();
      for (; at < s.length(); at++) {
        char c = s.charAt(at);
        if (c == '"') {
          at++;
          return b.toString();
        }
        if (c < ' ') break;
        b.append(c == '\\' ? escaped() : c);
      }
      throw wrong("the end of a string");
    }

    private char escaped() throws Refused {
      char c = ++at < s.length() ? s.charAt(at) : 0;
      int e = c == 0 ? -1 : "\"\\/bfnrt".indexOf(c);
      if (e >= 0) return "\"\\/\b\f\n\r\t".charAt(e);
      if (c != 'u' || at + 4 >= s.length() || !s.substring(at + 1, at + 5).matches("[0-9a-fA-F]{4}")) throw wrong("an escape");
      at += 4;
      return (char) Integer.parseInt(s.substring(at - 3, at + 1), 16);
    }
  }

  // The server. YOUR FRAMEWORK: its own server instead of com.sun.net.httpserver.

  static final class Server {
    private final String service;
    private final long limit, delay; // delay: slows the service, to test the lab
    private final List<Record> records = new ArrayList<>();
    // held for reading while an answer is sent: the client may have it before it is recorded
    private final ReentrantReadWriteLock sending = new ReentrantReadWriteLock();

    Server(Map<String, Object> line) {
      service = text(line, "service");
      limit = number(map(line, "limits"), "body", 16_000_000);
      String wait = map(line, "options").getOrDefault("delay", "").toString();
      if (!wait.matches("[0-9]{0,18}")) // a setting that is not understood is refused, not replaced
        throw new IllegalArgumentException("unknown options.delay \"" + wait + "\"; write nanoseconds, such as 1000000");
      delay = wait.isEmpty() ? 0 : Long.parseLong(wait);
    }

    private void refuse(HttpExchange http, int status, String why) throws IOException {
      byte[] b = (why + "\n").getBytes(StandardCharsets.UTF_8);
      http.getResponseHeaders().set("Connection", "close");
      http.getResponseHeaders().set("Content-Type", "text/plain");
      boolean head = http.getRequestMethod().equals("HEAD");
      http.sendResponseHeaders(status, head ? -1 : b.length);
      if (!head) http.getResponseBody().write(b);
    }

    void handle(HttpExchange http) throws IOException {
      try {
        String announced = http.getRequestHeaders().getFirst("Content-Length");
        if (!http.getRequestURI().getPath().equals("/" + service)) refuse(http, 404, "only /" + service + " is served");
        else if (!http.getRequestMethod().equals("POST")) refuse(http, 405, "only POST is served");
        else if (!mediaType(http.getRequestHeaders().getFirst("Content-Type")).equals(JSON)) refuse(http, 415, "send " + JSON);
        else if (announced != null && Long.parseLong(announced) > limit) refuse(http, 413, "the body is larger than the limit");
        else {
          byte[] body = read(http.getRequestBody(), limit);
          if (body.length > limit) refuse(http, 413, "the body is larger than the limit");
          else if (announced != null && body.length < Long.parseLong(announced)) refuse(http, 400, "the body is shorter than announced");
          else work(http, body);
        }
      } finally {
        http.close();
      }
    }

    private void work(HttpExchange http, byte[] body) throws IOException {
      long begun = now(); // the request is complete
      Map<String, Object> request;
      try {
        request = decode(body, Stack.request(service));
      } catch (Refused e) {
        refuse(http, 400, e.getMessage());
        return;
      }
      long decoded = now();
      waitUntil(decoded + delay);
      Map<String, Object> response = answer(service, request);
      long answered = now();
      byte[] out = encode(response, Stack.response(service));
      long encoded = now();
      http.getResponseHeaders().set("Content-Type", JSON);
      sending.readLock().lock();
      try {
        http.sendResponseHeaders(200, out.length == 0 ? -1 : out.length);
        http.getResponseBody().write(out);
        http.getResponseBody().flush();
        Record record = new Record("", decoded - begun, answered - decoded, encoded - answered, now() - begun, body.length, out.length);
        synchronized (records) {
          records.add(record);
        }
      } finally {
        sending.readLock().unlock();
      }
    }

    List<Record> take() {
      sending.writeLock().lock();
      List<Record> taken = new ArrayList<>(records);
      records.clear();
      sending.writeLock().unlock();
      return taken;
    }
  }

  /** Reads to the end, or one byte more than the limit. */
  static byte[] read(InputStream in, long limit) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    byte[] b = new byte[8192];
    for (int n; all.size() <= limit && (n = in.read(b)) >= 0; ) all.write(b, 0, n);
    return all.toByteArray();
  }

  static String mediaType(String header) {
    return header == null ? "" : header.split(";", 2)[0].trim().toLowerCase(java.util.Locale.ROOT);
  }

  /** Serves until another line than report, and returns that. */
  static Map<String, Object> serve(Map<String, Object> line) throws Exception {
    System.setProperty("sun.net.httpserver.nodelay", "true"); // header and body are two writes: Nagle and delayed acknowledgements would cost 40 ms
    System.setProperty("sun.net.httpserver.idleInterval", DAY); // by default connections of clients that pause end after 30 s,
    System.setProperty("sun.net.httpserver.maxIdleConnections", "100000"); // and those beyond 200 after each answer
    String host = text(line, "host");
    Server server = new Server(line);
    HttpServer http = HttpServer.create(new InetSocketAddress(InetAddress.getByName(host), (int) number(line, "port", 0)), 128); // this host only
    http.createContext("/", server::handle);
    http.setExecutor(Executors.newCachedThreadPool());
    http.start();
    ready(",\"url\":\"http://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + http.getAddress().getPort() + "/" + server.service + "\"");
    for (Map<String, Object> ask; (ask = next("report", "serve")) != null; ) {
      if (text(ask, "type").equals("serve")) return ask;
      List<Record> records = server.take();
      if (!Boolean.TRUE.equals(ask.get("discard"))) print(SERVED, records);
      end(records.size(), "");
    }
    return null;
  }

  // The client. YOUR FRAMEWORK: its own client instead of HttpURLConnection.

  static final class Client {
    private final String service;
    private final URL url;
    private final int timeout; // ms
    private final boolean keep; // the connection, for the next request
    private final Map<String, Object> request, expected;
    private long sent, done, connection, serialization, deserialization, total;
    private int out, in;

    Client(Map<String, Object> line) throws Exception {
      Map<String, Object> message = map(line, "message");
      String connection = text(line, "connection");
      service = text(line, "service");
      if (!Arrays.asList("keep-alive", "per-request").contains(connection)) {
        throw new Refused("no connection \"" + connection + "\"; there are keep-alive, per-request");
      }
      if (number(message, "letters", 0) != 0 || number(message, "max", 0) != 0) throw new Refused("letters and max are for concat and sum");
      keep = connection.equals("keep-alive");
      System.setProperty("http.keepAlive.time.server", DAY); // the JDK's default is 5 s; read once, and not before 8u341, 11.0.16, 17.0.4
      url = new URL(text(line, "url"));
      if (!url.getProtocol().equals("http")) throw new Refused("not an HTTP URL: " + url);
      timeout = (int) Math.max(1, number(line, "timeout", 30_000_000_000L) / 1_000_000);
      request = fromSeed(service, number(message, "seed", 0), number(message, "n", 0)); // a seed of 64 bits keeps its bits
      expected = answer(service, request);
    }

    /** Sends one request and fills the fields; throws if it fails. */
    private void once() throws Exception {
      sent = done = connection = serialization = deserialization = total = out = in = 0;
      long begun = now();
      byte[] body = encode(request, Stack.request(service));
      serialization = now() - begun;
      out = body.length;
      long opening = now();
      HttpURLConnection http = (HttpURLConnection) url.openConnection();
      http.setConnectTimeout(timeout);
      http.setReadTimeout(timeout);
      http.setRequestMethod("POST");
      http.setRequestProperty("Content-Type", JSON);
      http.setDoOutput(true);
      http.setFixedLengthStreamingMode(out); // so that nothing is sent twice
      try {
        exchange(http, body, begun, opening);
      } finally {
        // Per request the connection is closed here, after the total: with http.keepAlive=false the JDK would close it within the
        // last read of the answer, so within the RTT. It closes nothing once the stream is closed, so exchange leaves that open.
        if (!keep) http.disconnect();
      }
    }

    private void exchange(HttpURLConnection http, byte[] body, long begun, long opening) throws Exception {
      byte[] got = new byte[0];
      http.connect(); // takes a kept connection, or opens one
      sent = now();
      connection = sent - opening;
      try (OutputStream to = http.getOutputStream()) {
        to.write(body);
      }
      int status = http.getResponseCode();
      InputStream from = status < 400 ? http.getInputStream() : http.getErrorStream();
      if (from != null) got = read(from, Integer.MAX_VALUE - 16); // to its end: the connection may be used again
      done = now();
      in = got.length;
      if (status != 200) throw new Refused("status " + status + ": " + new String(got, 0, Math.min(in, 100), StandardCharsets.UTF_8).trim());
      if (!mediaType(http.getContentType()).equals(JSON)) throw new Refused("the answer is " + http.getContentType());
      long decoding = now();
      Map<String, Object> received = decode(got, response(service));
      deserialization = now() - decoding;
      total = now() - begun; // to check the answer and to close the connection are no part of it
      if (!received.equals(expected)) throw new Refused("the answer is another than was asked for");
    }

    void run(Map<String, Object> ask) throws Refused {
      String arrival = text(ask, "arrival");
      long requests = number(ask, "requests", Long.MAX_VALUE), duration = number(ask, "duration", Long.MAX_VALUE);
      double rate = ask.get("rate") instanceof BigDecimal ? ((BigDecimal) ask.get("rate")).doubleValue() : 0;
      double pace = rate > 0 ? 1e9 / rate : number(ask, "interval", 0);
      if (number(ask, "concurrency", 1) > 1) throw new Refused("there is one connection; set concurrency to 1");
      if (!arrival.isEmpty() && !arrival.equals("constant")) throw new Refused("no arrival \"" + arrival + "\"; there is constant");
      if (requests == Long.MAX_VALUE && duration == Long.MAX_VALUE) throw new Refused("the run has no end; give requests or duration");
      List<Record> records = new ArrayList<>();
      List<String> failures = new ArrayList<>();
      long count = 0, start = now();
      while (count < requests) {
        long due = pace > 0 ? Math.round(count * pace) : now() - start;
        if (due >= duration || rate == 0 && now() - start >= duration) break; // at a rate, what is due is sent, if late
        waitUntil(start + due);
        count++;
        long begun = now();
        String failure = "";
        try {
          once();
        } catch (Exception e) {
          failure = reason(e);
          failures.add(failure);
        }
        if (total == 0) total = now() - begun; // it failed before it was decoded
        if (Boolean.TRUE.equals(ask.get("record"))) { // printed after the last request: no output in between
          records.add(new Record(failure, due, sent == 0 ? 0 : sent - start, done == 0 ? 0 : done - start, connection, serialization,
              deserialization, total, out, in));
        }
      }
      print(CALLED, records);
      boolean untold = records.isEmpty() && !failures.isEmpty(); // no record tells of them
      end(count, untold ? quote(new StringBuilder(",\"failed\":" + failures.size() + ",\"first_failure\":"), failures.get(0)).toString() : "");
    }
  }

  /** Calls until another line than run, and returns that. */
  static Map<String, Object> call(Map<String, Object> line) throws Exception {
    Client client = new Client(line);
    ready("");
    for (Map<String, Object> ask; (ask = next("run", "call")) != null; ) {
      if (text(ask, "type").equals("call")) return ask;
      client.run(ask);
    }
    return null;
  }

  // The adapter protocol.

  private static final String DAY = "86400"; // s
  private static final String[] SERVED = {"deserialization", "processing", "serialization", "total", "in", "out"};
  private static final String[] CALLED = {"due", "sent", "done", "connection", "serialization", "deserialization", "total", "out", "in"};

  /** What is kept of a request. It becomes text after the run: to write it is no work of the stack. */
  static final class Record {
    final String failure;
    final long[] values; // in the order of SERVED or CALLED

    Record(String failure, long... values) {
      this.failure = failure;
      this.values = values;
    }
  }

  private static final BufferedReader STDIN = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
  private static final PrintStream STDOUT = new PrintStream(new java.io.BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false);

  @SuppressWarnings("unchecked")
  static Map<String, Object> map(Map<String, Object> line, String name) {
    return line.get(name) instanceof Map ? (Map<String, Object>) line.get(name) : new LinkedHashMap<>();
  }

  static String text(Map<String, Object> line, String name) {
    return line.get(name) == null ? "" : line.get(name).toString();
  }

  static long number(Map<String, Object> line, String name, long otherwise) {
    Object v = line.get(name);
    return v instanceof BigDecimal && ((BigDecimal) v).signum() != 0 ? ((BigDecimal) v).longValue() : otherwise;
  }

  /** Reads a line of one of two types; null is the end. */
  static Map<String, Object> next(String type, String other) throws IOException, Refused {
    String s = STDIN.readLine();
    if (s == null) return null;
    Map<String, Object> line = Reader.object(s);
    if (!Arrays.asList(type, other).contains(text(line, "type"))) {
      throw new Refused("no type \"" + text(line, "type") + "\" expected here; send " + type);
    }
    return line;
  }

  /** A program that reports again accepts another serve or call line: a virtual machine takes long to start. */
  static void ready(String more) {
    STDOUT.print("{\"type\":\"ready\",\"again\":true,\"version\":\"" + VERSION + "\",\"runtime\":\"Java " + System.getProperty("java.version") + "\"" + more + "}\n");
    STDOUT.flush();
  }

  static void print(String[] names, List<Record> records) {
    for (int i = 0; i < records.size(); i++) {
      Record r = records.get(i);
      StringBuilder b = new StringBuilder("{\"type\":\"exchange\",\"seq\":").append(i + 1);
      for (int k = 0; k < names.length; k++) {
        if (r.values[k] != 0) b.append(",\"").append(names[k]).append("\":").append(r.values[k]); // what is absent is zero
      }
      if (!r.failure.isEmpty()) quote(b.append(",\"failure\":"), r.failure);
      STDOUT.print(b.append("}\n"));
      if (i == 0) STDOUT.flush(); // the lab reads the run's CPU time when its first record comes
    }
  }

  static void end(long count, String more) {
    STDOUT.print("{\"type\":\"end\",\"count\":" + count + more + "}\n");
    STDOUT.flush();
  }

  static String reason(Exception e) {
    return e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage().replaceAll("\\s+", " ");
  }

  private static void offered(Map<String, Object> line, String what, String... have) throws Refused {
    if (Arrays.asList(have).contains(text(line, what))) return;
    throw new Refused("no " + what + " \"" + text(line, what) + "\"; there are " + String.join(", ", have));
  }

  public static void main(String[] args) {
    int status = 0;
    try {
      for (Map<String, Object> line = next(args[0], args[0]); line != null; ) {
        offered(line, "protocol", "1");
        offered(line, "service", "echo", "monitor");
        offered(line, "encoding", "json");
        offered(line, "security", "none");
        offered(line, "transport", "http");
        line = args[0].equals("serve") ? serve(line) : call(line);
      }
    } catch (Exception e) { // of any kind: the lab must read the reason
      STDOUT.print(quote(new StringBuilder("{\"type\":\"error\",\"message\":"), reason(e)) + "}\n");
      status = 1;
    }
    STDOUT.flush();
    Runtime.getRuntime().halt(status); // the end of stdin ends the program, even if threads still run
  }
}
