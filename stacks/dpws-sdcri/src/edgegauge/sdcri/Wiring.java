package edgegauge.sdcri;

import com.google.inject.AbstractModule;
import com.google.inject.Guice;
import com.google.inject.Injector;
import com.google.inject.Module;
import com.google.inject.Singleton;
import com.google.inject.name.Names;
import com.google.inject.util.Modules;
import edgegauge.adapter.Setup;
import java.io.OutputStream;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.http.config.SocketConfig;
import org.apache.http.impl.conn.PoolingHttpClientConnectionManager;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.somda.sdc.common.guice.DefaultCommonConfigModule;
import org.somda.sdc.common.guice.DefaultCommonModule;
import org.somda.sdc.dpws.CommunicationLogSink;
import org.somda.sdc.dpws.DpwsConfig;
import org.somda.sdc.dpws.DpwsFramework;
import org.somda.sdc.dpws.guice.DefaultDpwsConfigModule;
import org.somda.sdc.dpws.guice.DefaultDpwsModule;
import org.somda.sdc.dpws.http.HttpServerRegistry;
import org.somda.sdc.dpws.http.HttpUriBuilder;
import org.somda.sdc.dpws.http.apache.PoolCleaner;
import org.somda.sdc.dpws.http.jetty.JettyHttpServerRegistry;
import org.somda.sdc.dpws.network.NetworkInterfaceUtil;
import org.somda.sdc.dpws.soap.SoapConfig;
import org.somda.sdc.dpws.soap.SoapMarshalling;

/** SDCri put together as its users do, with the clock's hooks, the study's address and the settings of README.md in the places of its own. */
final class Wiring {
  private Wiring() {}

  static Injector injector(Setup setup, InetAddress host) {
    Module own = new AbstractModule() {
      @Override protected void configure() {
        bind(Boolean.class).annotatedWith(Names.named(SoapConfig.VALIDATE_SOAP_MESSAGES)).toInstance(false);
        bind(Boolean.class).annotatedWith(Names.named(DpwsConfig.HTTP_GZIP_COMPRESSION)).toInstance(false);
        bind(Duration.class).annotatedWith(Names.named(DpwsConfig.HTTP_CLIENT_READ_TIMEOUT)).toInstance(Duration.ofMillis(setup.timeoutMillis()));
        bind(Duration.class).annotatedWith(Names.named(DpwsConfig.HTTP_CLIENT_POOL_IDLE_TIMEOUT)).toInstance(Duration.ofDays(1));
        bind(Duration.class).annotatedWith(Names.named(DpwsConfig.HTTP_SERVER_CONNECTION_TIMEOUT)).toInstance(Duration.ofDays(1));
        // SDCri's own makes folders where the program runs, for a log of messages that is off.
        bind(CommunicationLogSink.class).toInstance((transport, direction, type, context) -> OutputStream.nullOutputStream());
        bind(SoapMarshalling.class).to(TimedMarshalling.class).in(Singleton.class);
        bind(JettyHttpServerRegistry.class).in(Singleton.class);
        bind(HttpServerRegistry.class).to(Registry.class).in(Singleton.class);
        bind(Setup.class).toInstance(setup);
        bind(NetworkInterfaceUtil.class).toInstance(new NetworkInterfaceUtil() {
          @Override public Optional<InetAddress> getFirstIpV4Address(NetworkInterface any) {
            return Optional.of(host);
          }
        });
        bind(HttpUriBuilder.class).toInstance(new HttpUriBuilder() {
          @Override public String buildUri(String scheme, String host, int port) {
            int zone = host.indexOf('%');
            String bare = zone < 0 ? host : host.substring(0, zone);
            return super.buildUri(scheme, bare.indexOf(':') >= 0 && !bare.startsWith("[") ? "[" + bare + "]" : bare, port);
          }
        });
      }
    };
    return Guice.createInjector(Modules.override(new DefaultDpwsConfigModule(), new DefaultDpwsModule(), new DefaultCommonConfigModule(), new DefaultCommonModule()).with(own));
  }

  /** Starts the framework on the interface. */
  static void start(Injector injector, NetworkInterface on) {
    DpwsFramework framework = injector.getInstance(DpwsFramework.class);
    framework.setNetworkInterface(on);
    framework.startAsync().awaitRunning();
  }

  /** The interface that has the address; for 127.0.0.2 and its like, the loopback interface. */
  static NetworkInterface interfaceOf(InetAddress a) throws Exception {
    NetworkInterface ni = NetworkInterface.getByInetAddress(a);
    if (ni == null && a.isLoopbackAddress()) ni = NetworkInterface.getByInetAddress(InetAddress.getLoopbackAddress());
    if (ni == null) throw new IllegalArgumentException("no interface has the address " + a.getHostAddress());
    return ni;
  }

  /** SDCri sets TCP_NODELAY on both sides and has no setting for it. */
  static void nagle(Injector injector) throws Exception {
    SocketConfig slow = SocketConfig.custom().setTcpNoDelay(false).build();
    for (Object ref : (Set<?>) field(injector.getInstance(PoolCleaner.class), "knownPools")) {
      Object pool = ((WeakReference<?>) ref).get();
      if (pool instanceof PoolingHttpClientConnectionManager) ((PoolingHttpClientConnectionManager) pool).setDefaultSocketConfig(slow);
    }
    for (Object server : ((Map<?, ?>) field(injector.getInstance(JettyHttpServerRegistry.class), "serverRegistry")).values())
      for (Connector c : ((Server) server).getConnectors()) ((ServerConnector) c).setAcceptedTcpNoDelay(false);
  }

  private static Object field(Object of, String name) throws Exception {
    Field f = of.getClass().getDeclaredField(name);
    f.setAccessible(true);
    return f.get(of);
  }
}
