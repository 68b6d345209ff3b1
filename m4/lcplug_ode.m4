# LCPLUG_ODE
# ----------
# Looks for Open Dynamics Engine, shared and static.  The library needs neither: only the tests that
# run against upstream and the demonstration do.  Sets
#
#   HAVE_ODE         conditional: header and shared library, double precision
#   ODE_CFLAGS, ODE_LIBS
#   HAVE_STATIC_ODE  conditional: a libode.a that a program can be linked with
#   ODE_STATIC_LIBS  that archive and all it needs in turn
AC_DEFUN([LCPLUG_ODE], [
AC_ARG_WITH([ode],
  [AS_HELP_STRING([--without-ode], [leave out the tests and the demonstration that need libode])],
  [], [with_ode=check])

have_ode=no
AS_IF([test "x$with_ode" != xno], [
  PKG_CHECK_MODULES([ODE], [ode], [have_ode=yes], [have_ode=no])
])

lcplug_save_CFLAGS=$CFLAGS
lcplug_save_LIBS=$LIBS
AS_IF([test $have_ode = yes], [
  # The differential tests pass arrays of double to upstream's inner functions, so a library built
  # in single precision does not do.
  AC_MSG_CHECKING([whether libode links and is in double precision])
  CFLAGS="$CFLAGS $ODE_CFLAGS"
  LIBS="$ODE_LIBS $LIBS"
  AC_LINK_IFELSE(
    [AC_LANG_PROGRAM([[#include <ode/ode.h>
                       typedef char needs_double[sizeof(dReal) == sizeof(double) ? 1 : -1];]],
                     [[dInitODE(); dCloseODE();]])],
    [], [have_ode=no])
  AC_MSG_RESULT([$have_ode])
])
AS_IF([test "x$with_ode" = xyes && test $have_ode = no],
  [AC_MSG_ERROR([--with-ode was given, but no libode in double precision was found])])

have_static_ode=no
ODE_STATIC_LIBS=
AS_IF([test $have_ode = yes], [
  AC_MSG_CHECKING([for a static libode])
  # -print-file-name answers with a path when the compiler finds the
  # archive, else with the bare name.
  lcplug_archive=`$PKG_CONFIG --variable=libdir ode`/libode.a
  AS_IF([test ! -f "$lcplug_archive"], [lcplug_archive=`$CC -print-file-name=libode.a`])
  AS_IF([test -f "$lcplug_archive"], [
    # ode.pc forgets libccd (Debian builds ODE with the system's one) and the threads; other builds
    # carry their own copy of it.  So: the shortest list of libraries that links.  Where only the
    # runtime package of libccd is installed, its file is named by its soname.
    lcplug_static=`$PKG_CONFIG --static --libs ode | sed 's/-lode\b//'`
    for lcplug_extra in "" "-lpthread" "-lccd -lpthread" "-l:libccd.so.2 -lpthread"; do
      LIBS="$lcplug_archive $lcplug_static $lcplug_extra -lstdc++ -lm $lcplug_save_LIBS"
      AC_LINK_IFELSE(
        [AC_LANG_PROGRAM([[#include <ode/ode.h>]],
                         [[dInitODE(); dWorldStep(dWorldCreate(), 0.01);
                           dCreateCylinder(0, 1, 1); dCloseODE();]])],
        [have_static_ode=yes
         ODE_STATIC_LIBS="$lcplug_archive $lcplug_static $lcplug_extra -lstdc++ -lm"
         break])
    done
  ])
  AC_MSG_RESULT([$have_static_ode])
])
CFLAGS=$lcplug_save_CFLAGS
LIBS=$lcplug_save_LIBS

AC_SUBST([ODE_STATIC_LIBS])
AC_SUBST([have_ode])
AC_SUBST([have_static_ode])
AM_CONDITIONAL([HAVE_ODE], [test $have_ode = yes])
AM_CONDITIONAL([HAVE_STATIC_ODE], [test $have_static_ode = yes])
])
