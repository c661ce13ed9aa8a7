package edgegauge.glassfish;

import edgegauge.adapter.ServerLog;
import edgegauge.adapter.Services;
import edgegauge.adapter.Setup;

/** What the web applications need of the program around them: the server makes their objects, and gives them nothing. */
public final class Hosted {
  public static volatile Setup setup;
  public static volatile Services services;
  public static volatile ServerLog log;
  public static volatile Application application; // null: it cannot

  /** An application that serves on, for another setup, services and log, without being deployed again. */
  public interface Application {
    void serve() throws Exception;
  }

  private Hosted() {}
}
