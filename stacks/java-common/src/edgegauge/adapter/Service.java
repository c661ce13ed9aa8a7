package edgegauge.adapter;

/** The services of contract/README.md. */
public enum Service {
  SORT, CONCAT, SUM, ECHO, TEMPERATURE, MONITOR, IO, MEMORY;

  /** The name in requests, URLs and XML. */
  public final String name = name().toLowerCase(java.util.Locale.ROOT);

  /** Returns null if there is no such service. */
  public static Service of(String name) {
    for (Service s : values()) if (s.name.equals(name)) return s;
    return null;
  }
}
