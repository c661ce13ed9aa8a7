// A stub: what src wants of JMEDS 2.0.0, by the names and signatures that JMEDS publishes. It is compiled against, and never run or shipped.
package org.ws4d.java;

public final class DPWSFramework {
  public static void start(String[] args) {
    throw new UnsupportedOperationException("this is a stub");
  }
}
