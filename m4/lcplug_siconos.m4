# LCPLUG_SICONOS
# --------------
# Looks for the numerics library of Siconos, for `make bench-siconos`
# alone.  It has no .pc file.  Sets
#
#   HAVE_SICONOS     conditional: headers and library, version 4.4 or so
#   SICONOS_CFLAGS, SICONOS_LIBS
AC_DEFUN([LCPLUG_SICONOS], [
AC_ARG_WITH([siconos],
  [AS_HELP_STRING([--with-siconos=PREFIX],
     [where Siconos is, for make bench-siconos @<:@/usr@:>@])],
  [], [with_siconos=/usr])
AS_CASE(["$with_siconos"], [yes], [with_siconos=/usr])
# Its headers include one another without their folder, and would not pass our warnings.
SICONOS_CFLAGS="-isystem $with_siconos/include/siconos"
SICONOS_CFLAGS="$SICONOS_CFLAGS -isystem $with_siconos/include/siconos/numerics"
SICONOS_LIBS="-lsiconos_numerics"
AS_IF([test "x$with_siconos" != x/usr], [SICONOS_LIBS="-L$with_siconos/lib $SICONOS_LIBS"])
AC_MSG_CHECKING([for the numerics library of Siconos])
lcplug_save_CFLAGS=$CFLAGS
lcplug_save_LIBS=$LIBS
CFLAGS="$CFLAGS $SICONOS_CFLAGS"
LIBS="$SICONOS_LIBS $LIBS"
have_siconos=no
AS_IF([test "x$with_siconos" != xno],
  [AC_LINK_IFELSE(
    [AC_LANG_PROGRAM([[#include <FrictionContactProblem.h>
                       #include <NonSmoothDrivers.h>]],
                     [[return fc3d_driver(0, 0, 0, 0);]])],
    [have_siconos=yes])])
CFLAGS=$lcplug_save_CFLAGS
LIBS=$lcplug_save_LIBS
AC_MSG_RESULT([$have_siconos])
AC_SUBST([SICONOS_CFLAGS])
AC_SUBST([SICONOS_LIBS])
AM_CONDITIONAL([HAVE_SICONOS], [test $have_siconos = yes])
])
