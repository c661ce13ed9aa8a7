package edgegauge.adapter;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** A stack's main program: the adapter protocol on stdin and stdout. */
public final class Program {
  private static final String END = new String("end of stdin"); // known by identity

  private final BufferedWriter out;
  private final LinkedBlockingQueue<String> lines = new LinkedBlockingQueue<>();

  private Program() {
    out = new BufferedWriter(new OutputStreamWriter(new FileOutputStream(FileDescriptor.out), StandardCharsets.UTF_8), 1 << 16);
    System.setOut(System.err); // some frameworks print
    System.setIn(new java.io.ByteArrayInputStream(new byte[0]));
    Thread reader = new Thread(this::read, "stdin");
    reader.setDaemon(true);
    reader.start();
  }

  /** Never returns. verb is serve or call. */
  public static void main(String verb, Stack stack) {
    Tls.pin();
    Program p = new Program();
    int status = 1;
    try {
      status = p.run(verb, stack);
    } catch (Throwable e) { // whatever it is, the lab must read the reason
      if (!(e instanceof IllegalArgumentException)) e.printStackTrace();
      p.error(reason(e));
    }
    Runtime.getRuntime().halt(status); // frameworks leave threads behind that would keep the JVM alive
  }

  private void read() {
    try (BufferedReader in = new BufferedReader(new InputStreamReader(new FileInputStream(FileDescriptor.in), StandardCharsets.UTF_8))) {
      for (String line; (line = in.readLine()) != null; ) if (!line.trim().isEmpty()) lines.add(line);
    } catch (IOException e) {
      System.err.println("stdin: " + reason(e));
    }
    lines.add(END);
    // Subtle: what was asked before the end may still be answered, but a hanging framework must not outlive its parent.
    try {
      TimeUnit.SECONDS.sleep(2);
    } catch (InterruptedException e) {
      // ends now
    }
    Runtime.getRuntime().halt(0);
  }

  private int run(String verb, Stack stack) throws Exception {
    if (!verb.equals("serve") && !verb.equals("call")) throw new IllegalArgumentException("no verb \"" + verb + "\"; it has serve, call");
    String line = lines.take();
    while (line != END) {
      Setup setup = new Setup(Json.object(line));
      if (!setup.type().equals(verb)) throw new IllegalArgumentException("first line is \"" + setup.type() + "\"; send \"" + verb + "\"");
      stack.check(setup);
      line = verb.equals("serve") ? serve(stack, setup) : call(stack, setup);
    }
    return 0;
  }

  /** Serves until another line than report, and returns that. */
  private String serve(Stack stack, Setup setup) throws Exception {
    ServerLog log = new ServerLog();
    String url = stack.serve(setup, setup.hooks ? new Services(setup) : new Services(setup, log), log);
    ready(stack, ",\"url\":" + Json.quote(new StringBuilder(), url));
    for (String line; (line = lines.take()) != END; ) {
      Map<String, Object> ask = Json.object(line);
      if ("serve".equals(ask.get("type")) && stack.again()) return line;
      if (!"report".equals(ask.get("type"))) throw new IllegalArgumentException("no type \"" + ask.get("type") + "\" while serving; send report");
      Log records = log.take();
      if (!Boolean.TRUE.equals(ask.get("discard"))) records.print(out);
      end(records.count(), "");
    }
    return END;
  }

  /** Calls until another line than run, and returns that. */
  private String call(Stack stack, Setup setup) throws Exception {
    Driver driver = new Driver(stack, setup);
    ready(stack, phases(driver));
    for (String line; (line = lines.take()) != END; ) {
      Map<String, Object> run = Json.object(line);
      if ("call".equals(run.get("type")) && stack.again()) return line;
      if (!"run".equals(run.get("type"))) throw new IllegalArgumentException("no type \"" + run.get("type") + "\" while calling; send run");
      AtomicLong count = new AtomicLong();
      Log records = driver.run(run, count);
      if (records != null) records.print(out);
      end(count.get(), phases(driver) + (records == null ? driver.failures() : ""));
    }
    return END;
  }

  private void ready(Stack stack, String more) throws IOException {
    StringBuilder b = new StringBuilder("{\"type\":\"ready\",\"again\":" + stack.again()).append(more);
    Json.quote(b.append(",\"version\":"), stack.version());
    Json.quote(b.append(",\"runtime\":"), runtime()).append("}\n");
    out.append(b).flush();
  }

  /** The machine, its collectors and its flags: they are part of the treatment. Costs 40 ms of the start, before anything is measured. */
  private static String runtime() {
    StringBuilder b = new StringBuilder(System.getProperty("java.vm.name")).append(' ').append(System.getProperty("java.runtime.version"));
    for (GarbageCollectorMXBean c : ManagementFactory.getGarbageCollectorMXBeans()) b.append(", ").append(c.getName());
    for (String flag : ManagementFactory.getRuntimeMXBean().getInputArguments()) b.append(", ").append(flag);
    return b.toString();
  }

  private void end(long count, String more) throws IOException {
    out.append("{\"type\":\"end\",\"count\":" + count + more + "}\n").flush();
  }

  /** The phases that are over, each once. */
  private static String phases(Driver driver) {
    StringBuilder b = new StringBuilder();
    driver.phases().forEach((name, ns) -> Json.quote(b.append(b.length() == 0 ? ",\"phases\":{" : ","), name).append(':').append(ns));
    return b.length() == 0 ? "" : b.append('}').toString();
  }

  private void error(String message) {
    try {
      out.append(Json.quote(new StringBuilder("{\"type\":\"error\",\"message\":"), message).append("}\n")).flush();
    } catch (IOException e) {
      System.err.println("stdout: " + e);
    }
  }

  /** Why it failed, in one line. */
  static String reason(Throwable e) {
    String s = e.getMessage();
    if (s == null || s.isEmpty()) s = e.getCause() != null && e.getCause() != e ? reason(e.getCause()) : e.getClass().getSimpleName();
    s = s.trim().replaceAll("\\s+", " ");
    return s.length() > 300 ? s.substring(0, 300) + " …" : s;
  }
}
