// A stub: what src wants of JMEDS 2.0.0, by the names and signatures that JMEDS publishes. It is compiled against, and never run or shipped.
package org.ws4d.java.communication;

import org.ws4d.java.structures.DataStructure;

public interface CommunicationManager {
  DataStructure getAvailableDomains();
}
