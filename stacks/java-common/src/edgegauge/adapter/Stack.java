package edgegauge.adapter;

import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.function.Function;

/** A framework under test: what it offers, its server, its client. */
public abstract class Stack {
  private final List<Offer> offers;

  protected Stack(Offer... offers) {
    this.offers = Arrays.asList(offers);
  }

  protected Stack(String[] encodings, String[] securities, String[] transports) {
    this(new Offer(encodings, securities, transports));
  }

  /** The framework's version, from its own jar. */
  public abstract String version();

  /** Listens, and returns the service's URL. Every answered request goes into log. */
  public abstract String serve(Setup setup, Services services, ServerLog log) throws Exception;

  /** Makes one client of one connection; it need not connect yet. */
  public abstract Caller call(Setup setup) throws Exception;

  /** Whether serve or call may follow another in one program. */
  protected boolean again() {
    return true;
  }

  /** Refuses what this stack does not do, and says what it does. */
  void check(Setup s) {
    if (s.protocol() != 1) throw new IllegalArgumentException("protocol " + s.protocol() + " is not spoken here; use 1");
    if (s.service == null) throw new IllegalArgumentException("no service \"" + s.serviceName + "\"; it has " + names());
    offered("encoding", s.encoding, o -> o.encodings, s);
    offered("security", s.security, o -> o.securities, s);
    if (!s.transport.isEmpty()) offered("transport", s.transport, o -> o.transports, s);
    if (s.type().equals("call")) offered("connection", s.connection, o -> o.connections, s);
    for (Offer o : offers) if (o.has(s)) return;
    throw new IllegalArgumentException("encoding " + s.encoding + " is not offered together with security " + s.security + ", transport " + s.transport + " and connection " + s.connection);
  }

  private void offered(String what, String name, Function<Offer, List<String>> of, Setup s) {
    Collection<String> have = new LinkedHashSet<>();
    for (Offer o : offers) have.addAll(of.apply(o));
    if (have.contains(name)) return;
    throw new IllegalArgumentException("no " + what + " \"" + name + "\" for service " + s.serviceName + "; it has " + String.join(", ", have));
  }

  private static String names() {
    StringBuilder b = new StringBuilder();
    for (Service s : Service.values()) b.append(b.length() == 0 ? "" : ", ").append(s.name);
    return b.toString();
  }

  /** The version in the name of the jar that c comes from, as Maven named it. */
  protected static String jarVersion(Class<?> c) {
    String jar = c.getProtectionDomain().getCodeSource().getLocation().getPath();
    return jar.replaceAll(".*/", "").replaceAll("^.*?-([0-9][^/]*)\\.jar$", "$1");
  }
}
