// A stub: what src wants of JMEDS 2.0.0, by the names and signatures that JMEDS publishes. It is compiled against, and never run or shipped.
package org.ws4d.java.structures;

public abstract class DataStructure {
  public boolean add(Object o) {
    throw new UnsupportedOperationException("this is a stub");
  }

  public void clear() {
    throw new UnsupportedOperationException("this is a stub");
  }
}
