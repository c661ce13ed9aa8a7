// The contract (stacks/contract/services.xsd) as gSOAP's compiler reads it. WSS is defined for the secured build, which imports the headers of
// WS-Security. The types are those that wsdl2h gives: xs:decimal is a string.
//gsoap eg service name: edgegauge
//gsoap eg service style: document
//gsoap eg service encoding: literal
//gsoap eg service namespace: urn:edgegauge:services:1
//gsoap eg schema namespace: urn:edgegauge:services:1
//gsoap eg schema form: qualified

typedef char *xsd__decimal;
enum xsd__boolean { xsd__boolean__false_, xsd__boolean__true_ };
struct xsd__base64Binary { unsigned char *__ptr; int __size; };

struct _eg__sort { $int __sizen 0; int *n 0; };
struct _eg__sortResponse { $int __sizen 0; int *n 0; };
struct _eg__concat { $int __sizes 0; char **s 0; };
struct _eg__concatResponse { char *text 1; };
struct _eg__sum { $int __sizex 0; xsd__decimal *x 0; };
struct _eg__sumResponse { xsd__decimal total 1; };
struct _eg__echo { char *text 1; };
struct _eg__echoResponse { char *text 1; };
struct _eg__temperature { };
struct _eg__temperatureResponse { xsd__decimal celsius 1; LONG64 time 1; };
struct _eg__monitor { char *id 1; int status 1; int sequence 1; xsd__decimal temperature 1; xsd__decimal pressure 1; enum xsd__boolean running 1; char *message 1; };
struct _eg__monitorResponse { enum xsd__boolean accepted 1; int sequence 1; };
struct _eg__io { struct xsd__base64Binary data 1; };
struct _eg__ioResponse { struct xsd__base64Binary digest 1; };
struct _eg__memory { struct xsd__base64Binary data 1; };
struct _eg__memoryResponse { struct xsd__base64Binary digest 1; };

//gsoap eg service method-action: sort urn:edgegauge:services:1/sort
int __eg__sort(struct _eg__sort *eg__sort, struct _eg__sortResponse *eg__sortResponse);
//gsoap eg service method-action: concat urn:edgegauge:services:1/concat
int __eg__concat(struct _eg__concat *eg__concat, struct _eg__concatResponse *eg__concatResponse);
//gsoap eg service method-action: sum urn:edgegauge:services:1/sum
int __eg__sum(struct _eg__sum *eg__sum, struct _eg__sumResponse *eg__sumResponse);
//gsoap eg service method-action: echo urn:edgegauge:services:1/echo
int __eg__echo(struct _eg__echo *eg__echo, struct _eg__echoResponse *eg__echoResponse);
//gsoap eg service method-action: temperature urn:edgegauge:services:1/temperature
int __eg__temperature(struct _eg__temperature *eg__temperature, struct _eg__temperatureResponse *eg__temperatureResponse);
//gsoap eg service method-action: monitor urn:edgegauge:services:1/monitor
int __eg__monitor(struct _eg__monitor *eg__monitor, struct _eg__monitorResponse *eg__monitorResponse);
//gsoap eg service method-action: io urn:edgegauge:services:1/io
int __eg__io(struct _eg__io *eg__io, struct _eg__ioResponse *eg__ioResponse);
//gsoap eg service method-action: memory urn:edgegauge:services:1/memory
int __eg__memory(struct _eg__memory *eg__memory, struct _eg__memoryResponse *eg__memoryResponse);
