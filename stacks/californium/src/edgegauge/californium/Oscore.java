package edgegauge.californium;

import edgegauge.adapter.Setup;
import java.security.SecureRandom;
import org.eclipse.californium.cose.AlgorithmID;
import org.eclipse.californium.oscore.HashMapCtxDB;
import org.eclipse.californium.oscore.OSCoreCtx;
import org.eclipse.californium.oscore.OSCoreCtxDB;
import org.eclipse.californium.oscore.OSException;

/**
 * OSCORE (RFC 8613) with AES-CCM-16-64-128. Sequence numbers begin at 0 in each process, and a nonce must never be used twice: every client adds a random ID
 * context, and the server derives the context of whoever comes with one.
 */
final class Oscore {
  private static final byte[] CLIENT = {1}, SERVER = {2};
  private static final int WINDOW = 32, MOST = 4096; // contexts; beyond it nobody new is let in

  private Oscore() {}

  static boolean wanted(Setup setup) {
    return setup.security.equals("oscore");
  }

  private static OSCoreCtx context(Setup setup, boolean client, byte[] id) throws OSException {
    return new OSCoreCtx(Californium.hex(setup.credential("oscore_secret")), client, AlgorithmID.AES_CCM_16_64_128, client ? CLIENT : SERVER, client ? SERVER : CLIENT,
        AlgorithmID.HKDF_HMAC_SHA_256, WINDOW, Californium.hex(setup.credential("oscore_salt")), id, Integer.MAX_VALUE);
  }

  /** A server's contexts; null where there is no OSCORE. */
  static OSCoreCtxDB server(Setup setup) {
    if (!wanted(setup)) return null;
    return new HashMapCtxDB() {
      private int derived;

      @Override public synchronized OSCoreCtx getContext(byte[] kid, byte[] id) throws org.eclipse.californium.oscore.CoapOSException {
        OSCoreCtx known = super.getContext(kid, id);
        if (known != null || id == null || id.length == 0 || kid.length != 1 || kid[0] != CLIENT[0] || derived >= MOST) return known;
        try {
          OSCoreCtx fresh = context(setup, false, id);
          addContext(fresh);
          derived++;
          return fresh;
        } catch (OSException e) {
          return null;
        }
      }
    };
  }

  /** A client's one context; null where there is no OSCORE. */
  static OSCoreCtxDB client(Setup setup) throws OSException {
    if (!wanted(setup)) return null;
    byte[] id = new byte[8];
    new SecureRandom().nextBytes(id);
    OSCoreCtx c = context(setup, true, id);
    c.setIncludeContextId(true);
    HashMapCtxDB db = new HashMapCtxDB();
    db.addContext(setup.url.substring(0, setup.url.lastIndexOf('/')), c);
    return db;
  }
}
