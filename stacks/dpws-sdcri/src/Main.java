import edgegauge.adapter.Program;
import edgegauge.sdcri.Sdcri;

/** The dpws-sdcri stack's program. */
public final class Main {
  public static void main(String[] args) {
    System.setProperty("log4j2.simplelogLevel", "ERROR"); // else SDCri's warnings about bad requests fill the log
    Program.main(args.length > 0 ? args[0] : "", new Sdcri());
  }
}
