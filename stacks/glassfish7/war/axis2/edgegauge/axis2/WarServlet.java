package edgegauge.axis2;

import edgegauge.glassfish.Hosted;
import jakarta.servlet.ServletConfig;
import jakarta.servlet.ServletContext;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.axiom.om.OMException;
import org.apache.axis2.AxisFault;
import org.apache.axis2.context.ConfigurationContext;
import org.apache.axis2.context.MessageContext;
import org.apache.axis2.engine.AxisConfiguration;
import org.apache.axis2.transport.http.AxisServlet;

/** Axis2's own servlet, with the service that ../axis2 has, and its hooks. */
public final class WarServlet extends AxisServlet {
  private static final long serialVersionUID = 1;
  private static final String RESPONSE = "transport.http.servletResponse"; // HTTPConstants.MC_HTTP_SERVLETRESPONSE, which moved after 1.6

  /** Axis2 asks for the folder of temporary files by Java EE's name, which Jakarta EE has no more, and else makes one where the program runs. */
  private static void temporary(ServletContext c) {
    String name = "javax.servlet.context.tempdir";
    if (c.getAttribute(name) == null) c.setAttribute(name, c.getAttribute(ServletContext.TEMPDIR));
  }

  @Override protected ConfigurationContext initConfigContext(ServletConfig config) throws ServletException {
    temporary(config.getServletContext());
    ConfigurationContext context = super.initConfigContext(config);
    AxisConfiguration axis2 = context.getAxisConfiguration();
    try {
      axis2.addService(Binding.service(Hosted.setup, Hosted.services));
      WarHook hook = new WarHook(Hosted.log);
      if (Hosted.setup.hooks) Hooks.install(axis2, hook);
      Hosted.application = () -> { // all of Axis2 is in this war: to deploy it takes longer than all that it is asked
        axis2.removeServiceGroup("Services");
        axis2.addService(Binding.service(Hosted.setup, Hosted.services));
        hook.log = Hosted.log;
      };
    } catch (Exception e) {
      throw new ServletException(e);
    }
    return context;
  }

  @Override protected void doPost(HttpServletRequest request, HttpServletResponse response) throws ServletException, IOException {
    super.doPost(request, new Judged(response));
  }

  @Override protected void handleFault(MessageContext m, OutputStream out, AxisFault e) throws AxisFault {
    AxisFault fault = e.getCause() instanceof OMException ? Faults.sender(e.getCause(), m) : e;
    ((Judged) m.getProperty(RESPONSE)).judge(Faults.status(fault, Hosted.setup.encoding));
    super.handleFault(m, out, fault);
  }

  /** Axis2's servlet calls every fault 500, and its sender says so once more. */
  private static final class Judged extends HttpServletResponseWrapper {
    private int fault = SC_INTERNAL_SERVER_ERROR;

    Judged(HttpServletResponse response) {
      super(response);
    }

    void judge(int status) {
      fault = status;
      super.setStatus(status);
    }

    @Override public void setStatus(int status) {
      super.setStatus(status == SC_INTERNAL_SERVER_ERROR ? fault : status);
    }
  }
}
