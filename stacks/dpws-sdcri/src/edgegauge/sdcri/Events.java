package edgegauge.sdcri;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.somda.sdc.dpws.service.EventSinkAccess;
import org.somda.sdc.dpws.service.HostedServiceProxy;
import org.somda.sdc.dpws.soap.interception.Direction;
import org.somda.sdc.dpws.soap.interception.Interceptor;
import org.somda.sdc.dpws.soap.interception.MessageInterceptor;
import org.somda.sdc.dpws.soap.interception.NotificationObject;

/** A subscriber to the events of a hosted service. */
final class Events implements Interceptor {
  private static final Duration SHORT = Duration.ofMinutes(1), LONG = Duration.ofHours(1);

  private final Semaphore heard = new Semaphore(0);

  /** Goes through all that WS-Eventing has, subscription, renewal, status and end, and then subscribes to stay. */
  Events(HostedServiceProxy service, String action, long patience) throws Exception {
    EventSinkAccess sink = service.getEventSinkAccess();
    List<String> actions = List.of(action);
    String id = sink.subscribe(actions, SHORT, this).get(patience, TimeUnit.NANOSECONDS).getSubscriptionId();
    Duration renewed = sink.renew(id, LONG).get(patience, TimeUnit.NANOSECONDS);
    Duration left = sink.getStatus(id).get(patience, TimeUnit.NANOSECONDS);
    if (renewed.compareTo(SHORT) <= 0 || left.compareTo(SHORT) <= 0) throw new IOException("a subscription was renewed for " + renewed + ", and " + left + " are left");
    sink.unsubscribe(id).get(patience, TimeUnit.NANOSECONDS);
    sink.subscribe(actions, LONG, this).get(patience, TimeUnit.NANOSECONDS);
  }

  @MessageInterceptor(direction = Direction.NOTIFICATION) public void on(NotificationObject event) {
    heard.release();
  }

  /** Waits for one event. */
  void await(long patience) throws IOException, InterruptedException {
    if (!heard.tryAcquire(patience, TimeUnit.NANOSECONDS)) throw new IOException("no event of the request came");
  }
}
