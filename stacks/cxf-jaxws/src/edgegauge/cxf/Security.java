package edgegauge.cxf;

import edgegauge.adapter.Setup;
import edgegauge.adapter.Tls;
import java.security.KeyStore;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.CallbackHandler;
import org.apache.cxf.binding.soap.SoapMessage;
import org.apache.cxf.interceptor.InterceptorProvider;
import org.apache.cxf.phase.AbstractPhaseInterceptor;
import org.apache.cxf.phase.Phase;
import org.apache.cxf.ws.security.wss4j.DefaultCryptoCoverageChecker;
import org.apache.cxf.ws.security.wss4j.WSS4JInInterceptor;
import org.apache.cxf.ws.security.wss4j.WSS4JOutInterceptor;
import org.apache.wss4j.common.WSS4JConstants;
import org.apache.wss4j.common.crypto.Merlin;
import org.apache.wss4j.common.ext.WSPasswordCallback;
import org.apache.wss4j.dom.WSDataRef;
import org.apache.wss4j.dom.engine.WSSecurityEngineResult;
import org.apache.wss4j.dom.handler.WSHandlerConstants;
import org.apache.wss4j.dom.handler.WSHandlerResult;

/** WS-Security of requests and responses by WSS4J's interceptors, as a user of CXF puts them in, and what they leave open. */
final class Security {
  private static final String SIGNED = "{}{%s}Body;{}{" + WSS4JConstants.WSU_NS + "}Timestamp";
  private static final String KEY = "edgegauge"; // our own key's name and its password in a store that is only in memory
  private static final String PEER = "peer";
  private static final String SIGNATURE = WSS4JConstants.RSA_SHA256, DIGEST = WSS4JConstants.SHA256;
  private static final String CIPHER = WSS4JConstants.AES_128_GCM, TRANSPORT = WSS4JConstants.KEYTRANSPORT_RSAOAEP;

  private final Setup setup;
  private final boolean server;
  private final String soap;

  private Security(Setup setup, boolean server) {
    this.setup = setup;
    this.server = server;
    soap = setup.encoding.equals("soap12") ? WSS4JConstants.URI_SOAP12_ENV : WSS4JConstants.URI_SOAP11_ENV;
  }

  static void install(InterceptorProvider endpoint, Setup setup, boolean server) throws Exception {
    if (!setup.security.startsWith("wss-")) return;
    Security s = new Security(setup, server);
    endpoint.getOutInterceptors().add(new WSS4JOutInterceptor(s.properties(server)));
    endpoint.getInInterceptors().add(new WSS4JInInterceptor(s.properties(!server)));
    if (!s.signs()) return;
    endpoint.getInInterceptors().add(s.coverage());
    endpoint.getInInterceptors().add(s.new Judge());
  }

  private boolean signs() {
    return !setup.security.equals("wss-username");
  }

  private boolean encrypts() {
    return setup.security.equals("wss-rsa-encrypt");
  }

  /** What WSS4J shall do with requests, or with responses. */
  private Map<String, Object> properties(boolean response) throws Exception {
    Map<String, Object> p = new HashMap<>();
    p.put(WSHandlerConstants.PW_CALLBACK_REF, (CallbackHandler) this::passwords);
    if (!signs()) {
      p.put(WSHandlerConstants.ACTION, response ? "Timestamp" : "UsernameToken Timestamp");
      if (response) return p;
      p.put(WSHandlerConstants.USER, setup.credential("user"));
      p.put(WSHandlerConstants.PASSWORD_TYPE, WSS4JConstants.PW_DIGEST);
      return p;
    }
    p.put(WSHandlerConstants.ACTION, encrypts() ? "Timestamp Signature Encrypt" : "Timestamp Signature");
    p.put("crypto", crypto());
    p.put(WSHandlerConstants.SIG_PROP_REF_ID, "crypto");
    p.put(WSHandlerConstants.SIG_VER_PROP_REF_ID, "crypto");
    p.put(WSHandlerConstants.SIGNATURE_USER, KEY);
    p.put(WSHandlerConstants.SIG_KEY_ID, "DirectReference");
    p.put(WSHandlerConstants.SIG_ALGO, SIGNATURE);
    p.put(WSHandlerConstants.SIG_DIGEST_ALGO, DIGEST);
    p.put(WSHandlerConstants.SIGNATURE_PARTS, String.format(SIGNED, soap));
    if (!encrypts()) return p;
    p.put(WSHandlerConstants.ENC_PROP_REF_ID, "crypto");
    p.put(WSHandlerConstants.DEC_PROP_REF_ID, "crypto");
    p.put(WSHandlerConstants.ENCRYPTION_USER, server ? WSHandlerConstants.USE_REQ_SIG_CERT : PEER);
    p.put(WSHandlerConstants.ENC_SYM_ALGO, CIPHER);
    p.put(WSHandlerConstants.ENC_KEY_TRANSPORT, TRANSPORT);
    p.put(WSHandlerConstants.ENCRYPTION_PARTS, "{Content}{" + soap + "}Body");
    return p;
  }

  private Merlin crypto() throws Exception {
    String who = server ? "" : "client_";
    char[] password = KEY.toCharArray();
    KeyStore own = Tls.store(KEY, setup.credential(who + "rsa_cert"), setup.credential(who + "rsa_key"), password);
    // Subtle: WSS4J takes the private key out of its store for each message, and PKCS12 derives a key in 10,000 rounds for that.
    KeyStore keys = KeyStore.getInstance("JKS");
    keys.load(null, null);
    keys.setKeyEntry(KEY, own.getKey(KEY, password), password, own.getCertificateChain(KEY));
    if (!server) keys.setCertificateEntry(PEER, Tls.trusted(setup.credential("rsa_cert")).getCertificate("ca0"));
    Merlin m = new Merlin();
    m.setKeyStore(keys);
    m.setTrustStore(Tls.trusted(setup.credential("ca")));
    return m;
  }

  private void passwords(Callback[] all) {
    for (Callback c : all) {
      WSPasswordCallback w = (WSPasswordCallback) c;
      if (w.getUsage() != WSPasswordCallback.USERNAME_TOKEN) w.setPassword(KEY);
      else if (setup.credential("user").equals(w.getIdentifier())) w.setPassword(setup.credential("password"));
    }
  }

  /** That the signature is of the body and the Timestamp that are used, not of some that were moved elsewhere. */
  private DefaultCryptoCoverageChecker coverage() {
    DefaultCryptoCoverageChecker c = new DefaultCryptoCoverageChecker();
    c.setSignBody(true);
    c.setSignTimestamp(true);
    c.setSignAddressingHeaders(false);
    c.setEncryptUsernameToken(false);
    c.setEncryptBody(encrypts());
    return c;
  }

  /** That the algorithms are the security's own: WSS4J takes any that it knows if no policy is given. */
  private final class Judge extends AbstractPhaseInterceptor<SoapMessage> {
    Judge() {
      super(Phase.PRE_PROTOCOL);
      addAfter(WSS4JInInterceptor.class.getName());
    }

    @SuppressWarnings("unchecked")
    @Override public void handleMessage(SoapMessage m) {
      List<WSHandlerResult> all = (List<WSHandlerResult>) m.get(WSHandlerConstants.RECV_RESULTS);
      if (all == null) return; // a fault, which is not signed; WSS4J has judged whether it may be
      for (WSHandlerResult handler : all)
        for (WSSecurityEngineResult r : handler.getResults()) judge(r);
    }

    @SuppressWarnings("unchecked")
    private void judge(WSSecurityEngineResult r) {
      want(r.get(WSSecurityEngineResult.TAG_SIGNATURE_METHOD), SIGNATURE);
      want(r.get(WSSecurityEngineResult.TAG_ENCRYPTED_KEY_TRANSPORT_METHOD), TRANSPORT);
      List<WSDataRef> parts = (List<WSDataRef>) r.get(WSSecurityEngineResult.TAG_DATA_REF_URIS);
      if (parts == null) return;
      for (WSDataRef part : parts) {
        want(part.getDigestAlgorithm(), DIGEST);
        if (part.getDigestAlgorithm() == null) want(part.getAlgorithm(), CIPHER);
      }
    }

    private void want(Object algorithm, String wanted) {
      if (algorithm != null && !algorithm.equals(wanted)) throw Faults.sender("no algorithm " + algorithm + " here; use " + wanted);
    }
  }
}
