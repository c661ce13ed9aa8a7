package edgegauge.axis2;

import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.apache.axis2.context.MessageContext;
import org.apache.axis2.engine.AxisConfiguration;

/**
 * Stands before every message formatter and builder of Axis2. A message is serialized into memory when the transport first asks the formatter for the
 * content type, which is before it opens the connection, and written from there; it is received whole before the builder sees it. A proxy, since the two
 * interfaces moved to another package between 1.6 and 1.8.
 */
final class Hooks {
  private static final String MADE = "edgegauge.made";

  /** What a side does at the hooks. */
  interface Side {
    /** Reads the message whole. */
    byte[] receive(InputStream in, MessageContext m) throws Exception;

    /** Building the message's head took ns; the body is pulled later. */
    void opened(long ns, MessageContext m);

    /** Writing the message into memory took ns. */
    void serialized(long ns, int bytes, MessageContext m);

    /** Hands the message to the transport. */
    void send(byte[] message, OutputStream out, MessageContext m) throws Exception;
  }

  private Hooks() {}

  static void install(AxisConfiguration config, Side side) throws ReflectiveOperationException {
    wrap(config, "messageFormatters", side);
    wrap(config, "messageBuilders", side);
  }

  /** The maps from content type to formatter or builder are private; there is no other way to see the defaults. */
  @SuppressWarnings("unchecked")
  private static void wrap(AxisConfiguration config, String field, Side side) throws ReflectiveOperationException {
    Field f = AxisConfiguration.class.getDeclaredField(field);
    f.setAccessible(true);
    for (Map.Entry<String, Object> e : ((Map<String, Object>) f.get(config)).entrySet()) {
      Object v = e.getValue();
      Object real = v instanceof Class ? ((Class<?>) v).getDeclaredConstructor().newInstance() : v;
      Set<Class<?>> types = new LinkedHashSet<>();
      for (Class<?> c = real.getClass(); c != null; c = c.getSuperclass()) types.addAll(Arrays.asList(c.getInterfaces()));
      Method write = named("writeTo", real.getClass());
      e.setValue(Proxy.newProxyInstance(real.getClass().getClassLoader(), types.toArray(new Class<?>[0]), (p, m, a) -> hook(real, write, m, a, side)));
    }
  }

  /** Looked up once: a builder has none. */
  private static Method named(String name, Class<?> of) {
    for (Method m : of.getMethods()) if (m.getName().equals(name)) return m;
    return null;
  }

  private static Object hook(Object real, Method write, Method m, Object[] a, Side side) throws Throwable {
    try {
      switch (m.getName()) {
        case "processDocument":
          return open(real, m, a, side);
        case "getContentType":
          made(real, write, (MessageContext) a[0], a[1], side);
          return m.invoke(real, a);
        case "getBytes":
          return made(real, write, (MessageContext) a[0], a[1], side);
        case "writeTo":
          side.send(made(real, write, (MessageContext) a[0], a[1], side), (OutputStream) a[2], (MessageContext) a[0]);
          return null;
        default:
          return m.invoke(real, a);
      }
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  private static Object open(Object builder, Method m, Object[] a, Side side) throws Exception {
    MessageContext context = (MessageContext) a[2];
    a[0] = new java.io.ByteArrayInputStream(side.receive((InputStream) a[0], context));
    long t0 = System.nanoTime();
    try {
      return m.invoke(builder, a);
    } catch (InvocationTargetException e) {
      throw Faults.sender(e.getCause(), context);
    } finally {
      side.opened(System.nanoTime() - t0, context);
    }
  }

  private static byte[] made(Object formatter, Method writeTo, MessageContext context, Object format, Side side) throws Exception {
    byte[] made = (byte[]) context.getProperty(MADE);
    if (made != null) return made;
    ByteArrayOutputStream buffer = new ByteArrayOutputStream(1024);
    long t0 = System.nanoTime();
    writeTo.invoke(formatter, context, format, buffer, false);
    long ns = System.nanoTime() - t0;
    side.serialized(ns, buffer.size(), context);
    made = buffer.toByteArray();
    context.setProperty(MADE, made);
    return made;
  }
}
