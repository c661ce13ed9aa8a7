package edgegauge.adapter;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The records of a run, in memory: rows of longs in blocks made before they are needed, no objects. */
final class Log {
  static final String[] CLIENT = {"seq", "due", "sent", "done", "serialization", "deserialization", "total", "out", "in", "connection"};
  static final String[] SERVER = {"seq", "deserialization", "processing", "serialization", "total", "in", "out"};
  private static final int ROWS = 1024;

  private final String[] columns;
  private final List<long[]> blocks = new ArrayList<>();
  private final Map<Long, String> failures = new HashMap<>();
  private int count;

  /** rows are expected; more are taken too. */
  Log(String[] columns, long rows) {
    this.columns = columns;
    for (long r = 0; r <= Math.min(rows, 1 << 20); r += ROWS) grow();
  }

  private void grow() {
    blocks.add(new long[ROWS * columns.length]);
  }

  synchronized int count() {
    return count;
  }

  synchronized void client(Exchange x, long start) {
    long[] b = row();
    int i = count++ % ROWS * columns.length;
    b[i] = x.seq;
    b[i + 1] = x.due;
    b[i + 2] = x.sent == 0 ? Math.max(x.due, x.begun - start) : x.sent - start;
    b[i + 3] = x.done == 0 ? 0 : x.done - start;
    b[i + 4] = x.serialization;
    b[i + 5] = x.deserialization;
    b[i + 6] = x.total;
    b[i + 7] = x.out;
    b[i + 8] = x.in;
    b[i + 9] = x.connection;
    if (!x.failure.isEmpty()) failures.put(x.seq, x.failure);
  }

  synchronized void server(Exchange x) {
    long[] b = row();
    int i = count % ROWS * columns.length;
    b[i] = ++count;
    b[i + 1] = x.deserialization;
    b[i + 2] = x.processing;
    b[i + 3] = x.serialization;
    b[i + 4] = x.total;
    b[i + 5] = x.in;
    b[i + 6] = x.out;
    if (!x.failure.isEmpty()) failures.put((long) count, x.failure);
  }

  private long[] row() {
    if (count / ROWS >= blocks.size()) grow();
    return blocks.get(count / ROWS);
  }

  /** Writes the rows as exchange lines. The first is on its way before the others are made: the lab reads our CPU time when it comes (../PROTOCOL.md). */
  synchronized void print(java.io.Writer out) throws java.io.IOException {
    StringBuilder line = new StringBuilder();
    for (int r = 0; r < count; r++) {
      long[] b = blocks.get(r / ROWS);
      int at = r % ROWS * columns.length;
      line.setLength(0);
      line.append("{\"type\":\"exchange\"");
      for (int c = 0; c < columns.length; c++) line.append(",\"").append(columns[c]).append("\":").append(b[at + c]);
      String failure = failures.get(b[at]);
      if (failure != null) Json.quote(line.append(",\"failure\":"), failure);
      out.append(line.append("}\n"));
      if (r == 0) out.flush();
    }
  }
}
