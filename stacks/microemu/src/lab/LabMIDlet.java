package lab;

import javax.microedition.lcdui.Display;
import javax.microedition.lcdui.Form;
import javax.microedition.midlet.MIDlet;

/** The application as the emulator starts it. It waits to be asked: requests come when the lab wants them. */
public final class LabMIDlet extends MIDlet {
  private static boolean started;

  protected void startApp() {
    Display.getDisplay(this).setCurrent(new Form("edgegauge"));
    synchronized (LabMIDlet.class) {
      started = true;
      LabMIDlet.class.notifyAll();
    }
  }

  protected void pauseApp() {}

  protected void destroyApp(boolean unconditional) {}

  /** Whether the emulator has started it within so many ms. */
  public static boolean waited(long ms) throws InterruptedException {
    synchronized (LabMIDlet.class) {
      long end = System.currentTimeMillis() + ms;
      for (long left; !started && (left = end - System.currentTimeMillis()) > 0; ) LabMIDlet.class.wait(left);
      return started;
    }
  }
}
