// A stub: what src wants of JMEDS 2.0.0, by the names and signatures that JMEDS publishes. It is compiled against, and never run or shipped.
package org.ws4d.java.util;

public class Log {
  public static final int DEBUG_LEVEL_ERROR = 1;

  public static void setLogLevel(int level) {
    throw new UnsupportedOperationException("this is a stub");
  }
}
