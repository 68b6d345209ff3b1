# LCPLUG_AMD
#
# AMD, the fill-reducing ordering of SuiteSparse, is required.  Its archive is preferred: a preload
# object that needs no library of its own can be moved and loaded anywhere.
#   AMD_LIBS  what to link
AC_DEFUN([LCPLUG_AMD], [
AC_CHECK_HEADER([suitesparse/amd.h], [],
  [AC_MSG_ERROR([suitesparse/amd.h not found: install libsuitesparse-dev])])
AC_MSG_CHECKING([for AMD])
AMD_LIBS=
lcplug_amd_archive=`$CC $CFLAGS -print-file-name=libamd.a`
lcplug_save_LIBS=$LIBS
lcplug_save_CFLAGS=$CFLAGS
for lcplug_amd in "$lcplug_amd_archive" -lamd; do
  # A shared object, as the archive might not be position independent.
  LIBS="$lcplug_amd -lm $lcplug_save_LIBS"
  CFLAGS="$lcplug_save_CFLAGS -shared -fPIC -Wl,-z,defs"
  AC_LINK_IFELSE([AC_LANG_SOURCE([[
      #include <suitesparse/amd.h>
      void order(int n, int *i, double *d);
      void order(int n, int *i, double *d) { amd_2(n, i, i, i, n, n, i, i, i, i, i, i, i, d, d); }
    ]])], [AMD_LIBS=$lcplug_amd])
  test -z "$AMD_LIBS" || break
done
LIBS=$lcplug_save_LIBS
CFLAGS=$lcplug_save_CFLAGS
AC_MSG_RESULT([${AMD_LIBS:-no}])
AS_IF([test -z "$AMD_LIBS"], [AC_MSG_ERROR([AMD cannot be linked: install libsuitesparse-dev])])
AC_SUBST([AMD_LIBS])
])
