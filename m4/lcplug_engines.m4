# LCPLUG_ENGINES
# --------------
# Looks for the other engines whose solver we replace; only the tests in
# tests/engines need them.  Sets
#
#   HAVE_BULLET  conditional: Bullet in both precisions, as Debian's libbullet-dev has it
#   BULLET_DOUBLE_CFLAGS, BULLET_DOUBLE_LIBS, BULLET_SINGLE_CFLAGS, BULLET_SINGLE_LIBS
#   HAVE_DART    conditional: DART
#   DART_CFLAGS, DART_LIBS
#
# Call after have_cxx is known.
AC_DEFUN([LCPLUG_ENGINES], [
have_bullet=no
have_dart=no
AS_IF([test $have_cxx = yes], [
  PKG_CHECK_MODULES([BULLET_DOUBLE], [bullet-float64], [have_bullet=yes], [have_bullet=no])
  PKG_CHECK_MODULES([BULLET_SINGLE], [bullet], [], [have_bullet=no])
  PKG_CHECK_MODULES([DART], [dart >= 6.9.1], [have_dart=yes], [have_dart=no])
])
AC_LANG_PUSH([C++])
lcplug_save_CPPFLAGS=$CPPFLAGS
AS_IF([test $have_bullet = yes], [
  CPPFLAGS="$BULLET_DOUBLE_CFLAGS $lcplug_save_CPPFLAGS"
  AC_CHECK_HEADER([BulletDynamics/MLCPSolvers/btDantzigLCP.h], [], [have_bullet=no])
])
AS_IF([test $have_dart = yes], [
  # Debian keeps headers that DART's own include in packages of their own.
  CPPFLAGS="$DART_CFLAGS $lcplug_save_CPPFLAGS"
  AC_CHECK_HEADER([dart/external/ikfast/ikfast.h], [], [have_dart=no], [#define IKFAST_HAS_LIBRARY
])
])
CPPFLAGS=$lcplug_save_CPPFLAGS
AC_LANG_POP([C++])
# Their headers are not ours to warn about.
BULLET_DOUBLE_CFLAGS=`AS_ECHO(["$BULLET_DOUBLE_CFLAGS"]) | $SED 's/-I/-isystem /g'`
BULLET_SINGLE_CFLAGS=`AS_ECHO(["$BULLET_SINGLE_CFLAGS"]) | $SED 's/-I/-isystem /g'`
DART_CFLAGS=`AS_ECHO(["$DART_CFLAGS"]) | $SED 's/-I/-isystem /g'`
AC_SUBST([have_bullet])
AC_SUBST([have_dart])
AM_CONDITIONAL([HAVE_BULLET], [test $have_bullet = yes])
AM_CONDITIONAL([HAVE_DART], [test $have_dart = yes])
])
