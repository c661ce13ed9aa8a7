package edgegauge.jaxws;

import edgegauge.jaxb.*;
import javax.jws.WebMethod;
import javax.jws.WebParam;
import javax.jws.WebResult;
import javax.jws.WebService;
import javax.jws.soap.SOAPBinding;

/** The service's interface, as wsimport makes it of contract/services.wsdl, but that its methods take and give the contract's messages themselves. */
@WebService(name = "Services", targetNamespace = Port.NAMESPACE)
@SOAPBinding(parameterStyle = SOAPBinding.ParameterStyle.BARE)
public interface Port {
  String NAMESPACE = "urn:edgegauge:services:1";

  @WebMethod(action = NAMESPACE + "/sort")
  @WebResult(name = "sortResponse", targetNamespace = NAMESPACE, partName = "parameters")
  SortResponse sort(@WebParam(name = "sort", targetNamespace = NAMESPACE, partName = "parameters") Sort in);

  @WebMethod(action = NAMESPACE + "/concat")
  @WebResult(name = "concatResponse", targetNamespace = NAMESPACE, partName = "parameters")
  ConcatResponse concat(@WebParam(name = "concat", targetNamespace = NAMESPACE, partName = "parameters") Concat in);

  @WebMethod(action = NAMESPACE + "/sum")
  @WebResult(name = "sumResponse", targetNamespace = NAMESPACE, partName = "parameters")
  SumResponse sum(@WebParam(name = "sum", targetNamespace = NAMESPACE, partName = "parameters") Sum in);

  @WebMethod(action = NAMESPACE + "/echo")
  @WebResult(name = "echoResponse", targetNamespace = NAMESPACE, partName = "parameters")
  EchoResponse echo(@WebParam(name = "echo", targetNamespace = NAMESPACE, partName = "parameters") Echo in);

  @WebMethod(action = NAMESPACE + "/temperature")
  @WebResult(name = "temperatureResponse", targetNamespace = NAMESPACE, partName = "parameters")
  TemperatureResponse temperature(@WebParam(name = "temperature", targetNamespace = NAMESPACE, partName = "parameters") Temperature in);

  @WebMethod(action = NAMESPACE + "/monitor")
  @WebResult(name = "monitorResponse", targetNamespace = NAMESPACE, partName = "parameters")
  MonitorResponse monitor(@WebParam(name = "monitor", targetNamespace = NAMESPACE, partName = "parameters") Monitor in);

  @WebMethod(action = NAMESPACE + "/io")
  @WebResult(name = "ioResponse", targetNamespace = NAMESPACE, partName = "parameters")
  IoResponse io(@WebParam(name = "io", targetNamespace = NAMESPACE, partName = "parameters") Io in);

  @WebMethod(action = NAMESPACE + "/memory")
  @WebResult(name = "memoryResponse", targetNamespace = NAMESPACE, partName = "parameters")
  MemoryResponse memory(@WebParam(name = "memory", targetNamespace = NAMESPACE, partName = "parameters") Memory in);
}
