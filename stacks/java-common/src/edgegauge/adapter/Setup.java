package edgegauge.adapter;

import java.util.Collections;
import java.util.Map;

/** What a serve or call line asks for. Absent fields are empty or zero, but for those with a default here. */
public final class Setup {
  public final Service service;
  public final String serviceName, encoding, security, transport, host, url, directory, sensor, connection;
  public final int port;
  public final long bodyLimit; // bytes
  public final long timeout;   // ns for one request
  public final boolean hooks;  // false: nothing of ours may stand in the framework's way
  private final Map<String, Object> line, message, credentials, options;

  Setup(Map<String, Object> line) {
    this.line = line;
    serviceName = text(line, "service");
    service = Service.of(serviceName);
    encoding = text(line, "encoding");
    security = or(text(line, "security"), "none");
    transport = text(line, "transport");
    host = or(text(line, "host"), "127.0.0.1");
    url = text(line, "url");
    directory = text(line, "directory");
    sensor = text(line, "sensor");
    connection = or(text(line, "connection"), "keep-alive");
    port = (int) number(line, "port", 0);
    message = map(line, "message");
    credentials = map(line, "credentials");
    options = map(line, "options");
    bodyLimit = number(map(line, "limits"), "body", 16_000_000);
    timeout = number(line, "timeout", 30_000_000_000L);
    String on = option("hooks", "on");
    hooks = on.equals("on");
    if (!hooks && !on.equals("off")) throw new IllegalArgumentException("options.hooks is \"" + on + "\"; write on or off");
  }

  static Setup none() {
    return new Setup(Collections.<String, Object>emptyMap());
  }

  String type() {
    return text(line, "type");
  }

  long protocol() {
    return number(line, "protocol", 1);
  }

  /** One request of the message this call is to send. */
  Message request() {
    return Messages.make(service, bits(message, "seed"), (int) number(message, "n", 0), (int) number(message, "letters", 0), number(message, "max", 0));
  }

  /** A path or key of the credentials. */
  public String credential(String name) {
    String v = text(credentials, name);
    if (v.isEmpty()) throw new IllegalArgumentException("security \"" + security + "\" needs credentials." + name);
    return v;
  }

  public String option(String name, String otherwise) {
    return or(text(options, name), otherwise);
  }

  /** An option that is a number, written as such or as text. */
  public long option(String name, long otherwise) {
    Object v = options.get(name);
    return v instanceof String ? Long.parseLong((String) v) : number(options, name, otherwise);
  }

  /** The timeout in milliseconds, at least one, for frameworks that take an int. */
  public int timeoutMillis() {
    return (int) Math.max(1, Math.min(Integer.MAX_VALUE, timeout / 1_000_000));
  }

  /** The host as it stands in a URL: IPv6 in brackets. */
  public String urlHost() {
    return host.indexOf(':') >= 0 ? "[" + host + "]" : host;
  }

  static String text(Map<String, Object> m, String key) {
    Object v = m.get(key);
    return v == null ? "" : v.toString();
  }

  static long number(Map<String, Object> m, String key, long otherwise) {
    Object v = m.get(key);
    if (v != null && !(v instanceof Number)) throw new IllegalArgumentException("\"" + key + "\" is " + v + "; write a number");
    return v == null || ((Number) v).doubleValue() == 0 ? otherwise : ((Number) v).longValue();
  }

  private static long bits(Map<String, Object> m, String key) {
    Object v = m.get(key);
    return v instanceof Long ? (Long) v : 0;
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> map(Map<String, Object> m, String key) {
    Object v = m.get(key);
    return v instanceof Map ? (Map<String, Object>) v : Collections.<String, Object>emptyMap();
  }

  private static String or(String s, String otherwise) {
    return s.isEmpty() ? otherwise : s;
  }
}
