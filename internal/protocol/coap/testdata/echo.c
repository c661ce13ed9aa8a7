/* A libcoap server that answers POST /echo with the request's body: the yardstick of BenchmarkAgainstLibcoap.
   cc -O2 -o echo echo.c $(pkg-config --cflags --libs libcoap-3-notls); ./echo prints its port. */
#include <arpa/inet.h>
#include <coap3/coap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void echo(coap_resource_t *r, coap_session_t *s, const coap_pdu_t *req, const coap_string_t *q, coap_pdu_t *res) {
  size_t n = 0;
  const uint8_t *d = NULL;
  (void)r; (void)s; (void)q;
  coap_get_data(req, &n, &d);
  coap_pdu_set_code(res, COAP_RESPONSE_CODE_CHANGED);
  uint8_t format[2];
  coap_add_option(res, COAP_OPTION_CONTENT_FORMAT, coap_encode_var_safe(format, sizeof format, 60), format);
  if (n) coap_add_data(res, n, d);
}

int main(int argc, char **argv) {
  coap_address_t a;
  coap_startup();
  coap_set_log_level(LOG_CRIT);
  coap_address_init(&a);
  a.size = sizeof a.addr.sin;
  a.addr.sin.sin_family = AF_INET;
  a.addr.sin.sin_port = htons(argc > 1 ? atoi(argv[1]) : 5683);
  inet_pton(AF_INET, "127.0.0.1", &a.addr.sin.sin_addr);
  coap_context_t *x = coap_new_context(NULL);
  if (!x || !coap_new_endpoint(x, &a, COAP_PROTO_UDP)) return 1;
  coap_resource_t *r = coap_resource_init(coap_make_str_const("echo"), 0);
  coap_register_handler(r, COAP_REQUEST_POST, echo);
  coap_add_resource(x, r);
  puts("ready");
  fflush(stdout);
  for (;;) coap_io_process(x, COAP_IO_WAIT);
}
