package edgegauge.adapter;

import java.io.IOException;

/** A body over the limit. */
public final class TooLarge extends IOException {
  private static final long serialVersionUID = 1;

  public TooLarge(long limit) {
    super("body is over the limit of " + limit + " bytes");
  }
}
