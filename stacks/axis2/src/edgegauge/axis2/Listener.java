package edgegauge.axis2;

import edgegauge.adapter.JdkHttp;
import edgegauge.adapter.Setup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.apache.axis2.context.ConfigurationContext;
import org.apache.axis2.transport.http.server.AxisHttpConnectionImpl;
import org.apache.axis2.transport.http.server.DefaultConnectionListener;
import org.apache.axis2.transport.http.server.DefaultConnectionListenerFailureHandler;
import org.apache.axis2.transport.http.server.HttpConnectionManager;
import org.apache.axis2.transport.http.server.HttpFactory;
import org.apache.axis2.transport.http.server.IOProcessor;
import org.apache.axis2.transport.http.server.WorkerFactory;
import org.apache.http.params.HttpConnectionParams;
import org.apache.http.params.HttpParams;

/**
 * Accepts for Axis2's HTTP server on one address; Axis2's own listener takes every address and knows no port 0. It is a DefaultConnectionListener because
 * Axis2 1.8 casts it to one and asks it for its port; nothing of the base class is used, and 1.6 has fewer methods to override.
 */
final class Listener extends DefaultConnectionListener {
  private final ServerSocket socket;
  private final HttpConnectionManager manager;
  private final HttpParams params;

  private Listener(ServerSocket socket, HttpConnectionManager manager, HttpParams params) throws IOException {
    super(socket.getLocalPort(), manager, new DefaultConnectionListenerFailureHandler(), params);
    this.socket = socket;
    this.manager = manager;
    this.params = params;
    HttpConnectionParams.setSoTimeout(params, JdkHttp.DAY * 1000); // Axis2 ends a connection on which nothing is asked for 60 s
  }

  @Override public void run() {
    while (!socket.isClosed()) {
      try {
        Socket s = socket.accept();
        manager.process(new AxisHttpConnectionImpl(s, params));
      } catch (IOException e) {
        if (!socket.isClosed()) System.err.println("accept: " + e);
      }
    }
  }

  @Override public void close() throws IOException {
    socket.close();
  }

  @Override public void destroy() {
    try {
      socket.close();
    } catch (IOException e) {
      System.err.println("close: " + e);
    }
  }

  public void awaitSocketOpen() {}

  public int getPort() {
    return socket.getLocalPort();
  }

  @Override public boolean isDestroyed() {
    return socket.isClosed();
  }

  /** Axis2's own parts but for the listener and the gate. */
  static final class Factory extends HttpFactory {
    private final ServerSocket socket;
    private final Setup setup;

    Factory(ConfigurationContext context, Setup setup) throws IOException {
      super(context, setup.port);
      this.setup = setup;
      socket = new ServerSocket(setup.port, 50, InetAddress.getByName(setup.host));
    }

    int port() {
      return socket.getLocalPort();
    }

    @Override public WorkerFactory newRequestWorkerFactory() {
      return () -> new Gate(setup, Axis2.path(setup));
    }

    @Override public IOProcessor newRequestConnectionListener(int port, HttpConnectionManager manager, HttpParams params) throws IOException {
      return new Listener(socket, manager, params);
    }
  }
}
