package edgegauge.adapter;

/** What the JDK's HTTP client and server are told. They read it once in a program, before they do anything. */
public final class JdkHttp {
  /** Seconds that a kept connection lives on which nothing is asked: studies may pause for as long as they like. */
  public static final int DAY = 86_400;

  private JdkHttp() {}

  /** The client, HttpURLConnection. kept: connections are kept after an answer, or would be if nobody closed them. */
  public static void client(boolean kept) {
    System.setProperty("http.keepAlive", Boolean.toString(kept));
    System.setProperty("http.keepAlive.time.server", "" + DAY); // 5 s; since 8u341, 11.0.16, 17.0.4
    System.setProperty("http.maxConnections", "1000");          // idle ones kept; 5 would close those of a higher concurrency
    System.setProperty("sun.net.http.retryPost", "false");      // a request sent twice is a failure here
  }

  /** The server, com.sun.net.httpserver. */
  public static void server() {
    System.setProperty("sun.net.httpserver.idleInterval", "" + DAY);          // 30 s
    System.setProperty("sun.net.httpserver.maxIdleConnections", "100000"); // 200; those beyond are closed after each answer
  }
}
