package edgegauge.jersey;

import edgegauge.glassfish.Hosted;
import jakarta.ws.rs.ApplicationPath;
import jakarta.ws.rs.core.Application;
import java.util.LinkedHashSet;
import java.util.Set;

/** Jersey's application: the resource and the entity provider of ../jersey, in whose package it stands since they are not public. */
@ApplicationPath("/")
public final class ProtobufApplication extends Application {
  @Override public Set<Object> getSingletons() {
    Set<Object> s = new LinkedHashSet<>();
    s.add(new ServerProtobuf(Hosted.setup, Hosted.log));
    s.add(new Resource(Hosted.setup, Hosted.services));
    return s;
  }
}
