#include "edgegauge.nsmap"
