package edgegauge.adapter;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

/** The lab's credentials, PEM files, as Java's key stores. */
public final class Tls {
  /** The only version, key exchange and suite that the stacks offer and ask for, so that two of them are compared with the same handshake. */
  public static final String VERSION = "TLSv1.3", GROUP = "x25519", SUITE = "TLS_AES_128_GCM_SHA256";

  private static final char[] NO_PASSWORD = new char[0];

  private Tls() {}

  /** Tells the JDK, before any of its TLS is loaded: it reads these once. */
  static void pin() {
    System.setProperty("jdk.tls.namedGroups", GROUP);
    System.setProperty("jdk.tls.client.cipherSuites", SUITE);
    System.setProperty("jdk.tls.server.cipherSuites", SUITE);
  }

  /** What a server shows: credentials cert and key. */
  public static KeyManager[] keys(Setup setup) throws GeneralSecurityException, IOException {
    KeyManagerFactory f = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    f.init(store("key", setup.credential("cert"), setup.credential("key"), NO_PASSWORD), NO_PASSWORD);
    return f.getKeyManagers();
  }

  /** Whom a client believes: credential ca. */
  public static TrustManager[] trust(Setup setup) throws GeneralSecurityException, IOException {
    TrustManagerFactory f = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    f.init(trusted(setup.credential("ca")));
    return f.getTrustManagers();
  }

  /** A server's context. */
  public static SSLContext server(Setup setup) throws GeneralSecurityException, IOException {
    SSLContext c = SSLContext.getInstance(VERSION);
    c.init(keys(setup), null, null);
    return c;
  }

  /** A client's context. */
  public static SSLContext client(Setup setup) throws GeneralSecurityException, IOException {
    SSLContext c = SSLContext.getInstance(VERSION);
    c.init(null, trust(setup), null);
    return c;
  }

  /** A key store of one private key with its certificate. */
  public static KeyStore store(String alias, String certFile, String keyFile, char[] password) throws GeneralSecurityException, IOException {
    Certificate[] chain = certificates(certFile).toArray(new Certificate[0]);
    KeyStore s = KeyStore.getInstance("PKCS12");
    s.load(null, null);
    s.setKeyEntry(alias, key(keyFile, chain[0].getPublicKey().getAlgorithm()), password, chain);
    return s;
  }

  /** A key store of the certificates in a file. */
  public static KeyStore trusted(String caFile) throws GeneralSecurityException, IOException {
    KeyStore s = KeyStore.getInstance("PKCS12");
    s.load(null, null);
    int i = 0;
    for (Certificate c : certificates(caFile)) s.setCertificateEntry("ca" + i++, c);
    return s;
  }

  private static Collection<? extends Certificate> certificates(String file) throws GeneralSecurityException, IOException {
    try (InputStream in = new ByteArrayInputStream(Files.readAllBytes(Paths.get(file)))) {
      return CertificateFactory.getInstance("X.509").generateCertificates(in);
    }
  }

  private static PrivateKey key(String file, String algorithm) throws GeneralSecurityException, IOException {
    String pem = new String(Files.readAllBytes(Paths.get(file)), StandardCharsets.US_ASCII);
    byte[] der = Base64.getMimeDecoder().decode(pem.replaceAll("-----[^-]*-----", ""));
    return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(der));
  }
}
