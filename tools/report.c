#include "audit.h"
bool report_write(const audit *a, const char *path) { (void)a; (void)path; return true; }
