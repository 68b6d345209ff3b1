#include "tools.h"
void tool_audit_help(void) {}
int tool_audit(int argc, char **argv) { (void)argc; (void)argv; return 0; }
