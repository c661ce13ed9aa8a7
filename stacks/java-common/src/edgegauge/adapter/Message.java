package edgegauge.adapter;

/**
 * A request or a response of any service, as plain values: only the fields of its service and side are set.
 * Decimals are in hundredths, times in milliseconds since 1970.
 */
public final class Message {
  public int[] n;             // sort, both sides
  public String[] s;          // concat
  public long[] x;            // sum
  public long total;          // sum's response
  public String text;         // echo, both sides; concat's response
  public long celsius, time;  // temperature's response
  public String id, message;  // monitor
  public int status, sequence;
  public long temperature, pressure;
  public boolean running, accepted;
  public byte[] data;         // io, memory
  public byte[] digest;       // their responses
}
