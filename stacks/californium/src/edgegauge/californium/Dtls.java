package edgegauge.californium;

import edgegauge.adapter.Setup;
import edgegauge.adapter.Tls;
import java.net.InetSocketAddress;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import org.eclipse.californium.elements.Connector;
import org.eclipse.californium.elements.auth.RawPublicKeyIdentity;
import org.eclipse.californium.elements.config.CertificateAuthenticationMode;
import org.eclipse.californium.elements.config.Configuration;
import org.eclipse.californium.scandium.DTLSConnector;
import org.eclipse.californium.scandium.config.DtlsConfig;
import org.eclipse.californium.scandium.config.DtlsConnectorConfig;
import org.eclipse.californium.scandium.dtls.CertificateType;
import org.eclipse.californium.scandium.dtls.cipher.CipherSuite;
import org.eclipse.californium.scandium.dtls.pskstore.AdvancedMultiPskStore;
import org.eclipse.californium.scandium.dtls.pskstore.AdvancedSinglePskStore;
import org.eclipse.californium.scandium.dtls.x509.SingleCertificateProvider;
import org.eclipse.californium.scandium.dtls.x509.StaticNewAdvancedCertificateVerifier;

/**
 * DTLS 1.2 with exactly one suite for each security, the one that RFC 7252, section 9.1.3, makes mandatory: a pre-shared key, the server's raw public key,
 * which the client knows beforehand, or the server's certificate, which the lab's authority has signed. Clients are not asked for a certificate.
 */
final class Dtls {
  private static final char[] NO_PASSWORD = new char[0];
  private static final int CID = 6; // bytes

  private Dtls() {}

  static boolean wanted(Setup setup) {
    return setup.security.startsWith("dtls-");
  }

  static Connector connector(Setup setup, Configuration conf, InetSocketAddress address, boolean server) throws Exception {
    boolean psk = setup.security.equals("dtls-psk");
    if (Californium.on(setup, "connection_id", "off")) conf.set(DtlsConfig.DTLS_CONNECTION_ID_LENGTH, server ? CID : 0);
    DtlsConnectorConfig.Builder d = DtlsConnectorConfig.builder(conf).setAddress(address);
    d.set(DtlsConfig.DTLS_ROLE, server ? DtlsConfig.DtlsRole.SERVER_ONLY : DtlsConfig.DtlsRole.CLIENT_ONLY);
    d.setAsList(DtlsConfig.DTLS_CIPHER_SUITES, psk ? CipherSuite.TLS_PSK_WITH_AES_128_CCM_8 : CipherSuite.TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8);
    if (psk) shared(setup, d, server);
    else if (server) shown(setup, d);
    else believed(setup, d);
    return new DTLSConnector(d.build());
  }

  private static void shared(Setup setup, DtlsConnectorConfig.Builder d, boolean server) {
    byte[] key = Californium.hex(setup.credential("psk"));
    if (server) {
      AdvancedMultiPskStore store = new AdvancedMultiPskStore();
      store.setKey(setup.credential("psk_identity"), key);
      d.setAdvancedPskStore(store);
    } else {
      d.setAdvancedPskStore(new AdvancedSinglePskStore(setup.credential("psk_identity"), key));
    }
  }

  private static void shown(Setup setup, DtlsConnectorConfig.Builder d) throws Exception {
    KeyStore s = Tls.store("key", setup.credential("cert"), setup.credential("key"), NO_PASSWORD);
    PrivateKey key = (PrivateKey) s.getKey("key", NO_PASSWORD);
    Certificate[] chain = s.getCertificateChain("key");
    d.setCertificateIdentityProvider(raw(setup) ? new SingleCertificateProvider(key, chain[0].getPublicKey())
        : new SingleCertificateProvider(key, chain, CertificateType.X_509));
    d.set(DtlsConfig.DTLS_CLIENT_AUTHENTICATION_MODE, CertificateAuthenticationMode.NONE); // then there must be no verifier
  }

  private static void believed(Setup setup, DtlsConnectorConfig.Builder d) throws Exception {
    StaticNewAdvancedCertificateVerifier.Builder b = StaticNewAdvancedCertificateVerifier.builder();
    if (raw(setup)) {
      KeyStore s = Tls.trusted(setup.credential("cert"));
      b.setTrustedRPKs(new RawPublicKeyIdentity(s.getCertificate("ca0").getPublicKey()));
    } else {
      b.setTrustedCertificates(new X509Certificate[] {(X509Certificate) Tls.trusted(setup.credential("ca")).getCertificate("ca0")});
    }
    d.setAdvancedCertificateVerifier(b.build());
  }

  private static boolean raw(Setup setup) {
    return setup.security.equals("dtls-rpk");
  }
}
