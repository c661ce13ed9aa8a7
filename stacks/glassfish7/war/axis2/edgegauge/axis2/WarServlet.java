package edgegauge.axis2;

import edgegauge.glassfish.Hosted;
import jakarta.servlet.ServletConfig;
import jakarta.servlet.ServletException;
import org.apache.axis2.context.ConfigurationContext;
import org.apache.axis2.transport.http.AxisServlet;

/** Axis2's own servlet, with the service that ../axis2 has, and its hooks. */
public final class WarServlet extends AxisServlet {
  private static final long serialVersionUID = 1;

  @Override protected ConfigurationContext initConfigContext(ServletConfig config) throws ServletException {
    ConfigurationContext context = super.initConfigContext(config);
    try {
      context.getAxisConfiguration().addService(Binding.service(Hosted.setup, Hosted.services));
      if (Hosted.setup.hooks) Hooks.install(context.getAxisConfiguration(), new WarHook(Hosted.log));
    } catch (Exception e) {
      throw new ServletException(e);
    }
    return context;
  }
}
