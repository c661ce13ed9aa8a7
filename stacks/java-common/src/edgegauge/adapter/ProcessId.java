package edgegauge.adapter;

import java.io.File;
import java.io.IOException;

/** This process's number: Java 8 has no ProcessHandle, and the management classes cost a twentieth of a second. */
final class ProcessId {
  private static String pid;

  private ProcessId() {}

  static synchronized String get() throws IOException {
    if (pid == null) pid = new File("/proc/self").getCanonicalFile().getName();
    return pid;
  }
}
