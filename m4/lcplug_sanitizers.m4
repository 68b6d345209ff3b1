# LCPLUG_SANITIZERS
# -----------------
# Adds --enable-sanitizers (addresses and undefined behaviour) and --enable-tsan (data races), and
# sets SANITIZE_FLAGS for compiling and linking.  The two cannot share a process, so asking for both
# is an error.  Any report ends the test: a sanitizer that only prints is soon not read.
AC_DEFUN([LCPLUG_SANITIZERS], [
AC_ARG_ENABLE([sanitizers],
  [AS_HELP_STRING([--enable-sanitizers],
     [build with AddressSanitizer and UndefinedBehaviorSanitizer])],
  [], [enable_sanitizers=no])
AC_ARG_ENABLE([tsan],
  [AS_HELP_STRING([--enable-tsan], [build with ThreadSanitizer])],
  [], [enable_tsan=no])

SANITIZE_FLAGS=
AS_CASE([$enable_sanitizers-$enable_tsan],
  [no-no], [],
  [*-no], [SANITIZE_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all"
    SANITIZE_FLAGS="$SANITIZE_FLAGS -fno-omit-frame-pointer"],
  [no-*], [SANITIZE_FLAGS="-fsanitize=thread -fno-omit-frame-pointer"],
  [AC_MSG_ERROR([--enable-sanitizers and --enable-tsan exclude each other])])

AS_IF([test -n "$SANITIZE_FLAGS"], [
  AC_MSG_CHECKING([whether $CC links with $SANITIZE_FLAGS])
  lcplug_save_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS $SANITIZE_FLAGS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([the sanitizers were asked for, but their libraries are missing])])
  CFLAGS=$lcplug_save_CFLAGS
])
AC_SUBST([SANITIZE_FLAGS])
AM_CONDITIONAL([SANITIZED], [test -n "$SANITIZE_FLAGS"])
])
