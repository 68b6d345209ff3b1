"""bind_python.py LIBRARY - liblcplug from Python, with nothing but ctypes.

What a binding relies on: structs of fixed size with a version in front, functions that take plain
pointers, texts and options that are asked for by functions.  The problem is a block on a plane,
pressed down and pushed along x and, less, along y:  x = (4, -2, 0.5), w = (0, 2, 0).
"""
import ctypes
import math
import sys
from ctypes import (POINTER, Structure, byref, c_char_p, c_double, c_int, c_int32, c_size_t,
                    c_uint32, c_void_p, sizeof)

doubles = POINTER(c_double)


class Problem(Structure):
    _fields_ = [("api", c_uint32), ("n", c_int32), ("A", doubles), ("stride", c_size_t),
                ("full", c_int32), ("nub", c_int32), ("b", doubles), ("b_step", c_size_t),
                ("lo", doubles), ("hi", doubles), ("bounds_step", c_size_t),
                ("findex", POINTER(c_int32)), ("x0", doubles), ("reserved", c_void_p * 5)]


class Settings(Structure):  # set by name: what lies behind the version is the library's own
    _fields_ = [("api", c_uint32), ("opaque", c_int32 * 31)]


class Solution(Structure):
    _fields_ = [("x", doubles), ("x_step", c_size_t), ("w", doubles), ("lo", doubles),
                ("hi", doubles), ("bounds_step", c_size_t), ("reserved", c_void_p * 2)]


class Info(Structure):
    _fields_ = [("api", c_uint32), ("status", c_int), ("solver", c_int), ("matrix", c_int),
                ("iterations", c_int32), ("factorizations", c_int32), ("residual", c_double),
                ("gap", c_double), ("seconds", c_double), ("reserved", c_double * 10)]


class Option(Structure):
    _fields_ = [("key", c_char_p), ("values", c_char_p), ("initial", c_char_p),
                ("meaning", c_char_p), ("reserved", c_void_p * 4)]


FUNCTIONS = {  # name: (what it returns, what it takes)
    "lcplug_version": (c_char_p, []),
    "lcplug_error_text": (c_char_p, [c_int]),
    "lcplug_status_text": (c_char_p, [c_int]),
    "lcplug_solver_name": (c_char_p, [c_int]),
    "lcplug_problem_default": (Problem, []),
    "lcplug_problem_check": (c_int, [POINTER(Problem)]),
    "lcplug_settings_default": (Settings, []),
    "lcplug_settings_set": (c_int, [c_void_p, c_char_p, c_char_p]),
    "lcplug_option_get": (c_int, [c_int, POINTER(Option)]),
    "lcplug_option_choice": (c_int, [c_char_p, c_int, POINTER(c_char_p), POINTER(c_char_p)]),
    "lcplug_workspace_create": (c_void_p, []),
    "lcplug_workspace_free": (None, [c_void_p]),
    "lcplug_info_default": (Info, []),
    "lcplug_solve": (c_int, [c_void_p, POINTER(Problem), POINTER(Settings), POINTER(Solution),
                             POINTER(Info)]),
    "lcplug_residual": (c_int, [c_void_p, POINTER(Problem), c_int, doubles, c_size_t, doubles,
                                doubles, c_size_t, doubles]),
    "lcplug_mixedlcp_create": (c_void_p, [c_int32, c_int32]),
    "lcplug_mixedlcp_free": (None, [c_void_p]),
    "lcplug_mixedlcp_settings": (c_void_p, [c_void_p]),
    "lcplug_mixedlcp_set_matrix": (c_int, [c_void_p, doubles, c_size_t, c_int32]),
    "lcplug_mixedlcp_set_right_side": (c_int, [c_void_p, doubles, c_int32, c_int32]),
    "lcplug_mixedlcp_set_low": (c_int, [c_void_p, doubles, c_int32]),
    "lcplug_mixedlcp_set_high": (c_int, [c_void_p, doubles, c_int32]),
    "lcplug_mixedlcp_set_friction_index": (c_int, [c_void_p, POINTER(c_int32), c_int32]),
    "lcplug_mixedlcp_solve": (c_int, [c_void_p]),
    "lcplug_mixedlcp_valid": (c_int, [c_void_p]),
    "lcplug_mixedlcp_lambda": (doubles, [c_void_p]),
    "lcplug_mixedlcp_info": (Info, [c_void_p]),
}

failures = 0


def check(what, holds):
    global failures
    failures += not holds
    print("ok - " + what if holds else "not ok - " + what)


def numbers(*values):
    return (c_double * len(values))(*values)


def near(found, expected, limit):
    return all(abs(f - e) <= limit for f, e in zip(found, expected))


A = numbers(0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5)
B = numbers(2, -3, 0.25)
LO = numbers(0, -0.5, -0.5)
HI = numbers(math.inf, 0.5, 0.5)
FINDEX = (c_int32 * 3)(-1, 0, 0)
X, W = (4, -2, 0.5), (0, 2, 0)


def make_problem(lcplug):
    p = lcplug.lcplug_problem_default()
    p.n, p.A, p.stride, p.full = 3, A, 3, 1
    p.b, p.lo, p.hi, p.findex = B, LO, HI, FINDEX
    return p


def check_structs(lcplug):
    sizes = [(Problem, 128), (Settings, 128), (Solution, 64), (Info, 128), (Option, 64)]
    for kind, size in sizes:
        check("%s has %d bytes" % (kind.__name__, size), sizeof(kind) == size)
    check("version of Problem", lcplug.lcplug_problem_default().api == 0x4C435031)
    check("version of Settings", lcplug.lcplug_settings_default().api == 0x4C435331)
    check("version of Info", lcplug.lcplug_info_default().api == 0x4C434931)
    check("nothing reserved is set", not any(lcplug.lcplug_problem_default().reserved))


def check_options(lcplug):
    option, keys = Option(), []
    while lcplug.lcplug_option_get(len(keys), byref(option)):
        keys.append(option.key.decode())
    check("options: " + " ".join(keys), {"solver", "friction", "tol"} <= set(keys))
    value, meaning, names = c_char_p(), c_char_p(), []
    while lcplug.lcplug_option_choice(b"solver", len(names), byref(value), byref(meaning)):
        names.append(value.value)
    for code, name in enumerate(names):
        check("solver %d is %s" % (code, name.decode()), lcplug.lcplug_solver_name(code) == name)


def check_solve(lcplug, solver):
    problem, settings = make_problem(lcplug), lcplug.lcplug_settings_default()
    error = lcplug.lcplug_settings_set(byref(settings), b"solver", solver.encode())
    check(solver + ": set", error == 0)
    x, w, lo, hi = numbers(9, 9, 9), numbers(9, 9, 9), numbers(9, 9, 9), numbers(9, 9, 9)
    solution, info = Solution(x=x, w=w, lo=lo, hi=hi), Info()
    ctypes.memset(byref(info), 0x55, sizeof(info))
    workspace = lcplug.lcplug_workspace_create()
    error = lcplug.lcplug_solve(workspace, byref(problem), byref(settings), byref(solution),
                                byref(info))
    check(solver + ": " + lcplug.lcplug_error_text(error).decode(), error == 0)
    check(solver + ": " + lcplug.lcplug_status_text(info.status).decode(), info.status == 0)
    check(solver + ": version of its info", info.api == 0x4C434931)
    check(solver + ": nothing reserved is set", not any(info.reserved))
    check(solver + ": x", near(x, X, 1e-5))
    check(solver + ": w", near(w, W, 1e-5))
    check(solver + ": bounds", near(hi[1:], (2, 2), 1e-5) and near(lo[1:], (-2, -2), 1e-5))
    residual = c_double(9)
    error = lcplug.lcplug_residual(workspace, byref(problem), 0, x, 1, lo, hi, 1, byref(residual))
    check(solver + ": residual %g" % residual.value, not error and residual.value <= 1e-6)
    lcplug.lcplug_workspace_free(workspace)


def check_refusal(lcplug):
    empty, lopsided = Problem(), make_problem(lcplug)
    lopsided.A = numbers(0.5, 0, 0, 1, 0.5, 0, 0, 0, 0.5)
    for problem, code in ((empty, 1), (lopsided, 7)):
        error = lcplug.lcplug_problem_check(byref(problem))
        check("refused: " + lcplug.lcplug_error_text(error).decode(), error == code)


def check_object(lcplug):
    lcp = lcplug.lcplug_mixedlcp_create(3, 0)
    lcplug.lcplug_settings_set(lcplug.lcplug_mixedlcp_settings(lcp), b"solver", b"exact")
    errors = [lcplug.lcplug_mixedlcp_set_matrix(lcp, A, 3, 1),
              lcplug.lcplug_mixedlcp_set_right_side(lcp, B, 3, 0),
              lcplug.lcplug_mixedlcp_set_low(lcp, LO, 3),
              lcplug.lcplug_mixedlcp_set_high(lcp, HI, 3),
              lcplug.lcplug_mixedlcp_set_friction_index(lcp, FINDEX, 3),
              lcplug.lcplug_mixedlcp_solve(lcp)]
    check("object: no error", not any(errors))
    check("object: valid", lcplug.lcplug_mixedlcp_valid(lcp) == 1)
    check("object: lambda", near(lcplug.lcplug_mixedlcp_lambda(lcp)[:3], X, 1e-9))
    check("object: info", lcplug.lcplug_mixedlcp_info(lcp).solver == 3)
    lcplug.lcplug_mixedlcp_free(lcp)


def main():
    lcplug = ctypes.CDLL(sys.argv[1])
    for name, (returns, takes) in FUNCTIONS.items():
        function = getattr(lcplug, name)
        function.restype, function.argtypes = returns, takes
    print("version " + lcplug.lcplug_version().decode())
    check_structs(lcplug)
    check_options(lcplug)
    for solver in ("auto", "exact", "pgs", "apgd"):
        check_solve(lcplug, solver)
    check_refusal(lcplug)
    check_object(lcplug)
    return 1 if failures else 0


sys.exit(main())
