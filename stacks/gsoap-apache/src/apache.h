// A private Apache: its folder, its configuration, its process.
#ifndef EDGEGAUGE_APACHE_H
#define EDGEGAUGE_APACHE_H
#include "program.h"

struct apache {
  char root[200];   // its folder
  char records[240]; // where the CGI processes append
  int port;
  int pid;
};

// Makes the folder below the setup's directory and starts Apache there; true when it listens. As root its workers are www-data, else all are this user.
bool apache_start(struct apache *a, const struct setup *s, char *why, size_t size);

// Ends Apache and every process of it, and removes the folder.
void apache_stop(struct apache *a);

const char *apache_version(void);
#endif
