/* smooth_lanes_body.h - the kernels of smooth_lanes.h, written once; smooth_lanes.c includes this
 * once per instruction set.
 *
 * The includer defines
 *     NAME(x)  the name of a function in this set
 *     TARGET   its attribute
 *     ROOT(v)  the square roots of four numbers
 *
 * No product is fused with a sum: every set gives the same bits. */

#define INLINE static inline __attribute__((always_inline)) TARGET

INLINE four NAME(pick)(mask when, four a, four b) {
  return (four)((when & (mask)a) | (~when & (mask)b));
}

INLINE four NAME(at_least)(four slope) {
  four least = LEAST_SLOPE - (four){0, 0, 0, 0};
  return NAME(pick)(slope > least, slope, least);
}

/* a / b where b is above 0. */
INLINE four NAME(divide)(four a, four b, four otherwise) {
  return NAME(pick)(b > 0.0, a / b, otherwise);
}

INLINE four NAME(gather)(const double *v, const int *at, int offset) {
  return (four){v[at[0] + offset], v[at[1] + offset], v[at[2] + offset], v[at[3] + offset]};
}

/* s y and u of four cones, and the length and direction of u's tangential part. */
typedef struct NAME(state) {
  four s, sy[3], u[3], r, d[2];
} NAME(state);

INLINE void NAME(enter)(const cone_quad *q, const cone_view *at, NAME(state) * c) {
  const four zero = {0, 0, 0, 0};
  c->s = at->stiffness * q->s;
  for (int i = 0; i < 3; i++) {
    c->sy[i] = c->s * q->g[i] * NAME(gather)(at->x, q->first, i);
    c->u[i] = c->sy[i] - (NAME(gather)(at->Ax, q->first, i) - q->b[i]) * q->in_g[i];
  }
  if (!at->exact) c->u[0] -= NAME(gather)(at->slip, q->set, 0) * q->in_g[0];
  c->r = ROOT(c->u[1] * c->u[1] + c->u[2] * c->u[2]);
  c->d[0] = NAME(divide)(c->u[1], c->r, zero + 1.0);
  c->d[1] = NAME(divide)(c->u[2], c->r, zero);
}

/* max(t, 0) with its corner rounded off, and its root; for t < 0 without cancellation. */
INLINE four NAME(ramp)(four t, double eps, four *root) {
  const four zero = {0, 0, 0, 0};
  *root = ROOT(t * t + 4.0 * eps * eps);
  four below = NAME(divide)(zero + 2.0 * eps * eps, *root - t, zero);
  return NAME(pick)(t > 0.0, 0.5 * (t + *root), below);
}

INLINE four NAME(slope)(four t, four root) {
  const four zero = {0, 0, 0, 0};
  return 0.5 * (1.0 + NAME(divide)(t, root, zero));
}

/* ---- Alart and Curnier's conditions ---------------------------------------------------------- */

typedef struct NAME(disc) {
  four normal, normal_root, root, larger, factor;
} NAME(disc);

INLINE NAME(disc) NAME(round_disc)(const NAME(state) * c, double eps) {
  NAME(disc) d;
  d.normal = NAME(ramp)(c->u[0], eps, &d.normal_root);
  four off = c->r - d.normal;
  d.root = ROOT(off * off + 4.0 * eps * eps);
  d.larger = 0.5 * (c->r + d.normal + d.root);
  d.factor = NAME(divide)(d.normal, d.larger, (four){1, 1, 1, 1});
  return d;
}

INLINE four NAME(coulomb_f)(const NAME(state) * c, double eps, four *f) {
  NAME(disc) d = NAME(round_disc)(c, eps);
  f[0] = c->sy[0] - d.normal;
  for (int i = 1; i < 3; i++) f[i] = c->sy[i] - d.factor * c->u[i];
  return d.normal;
}

/* V^-1 by what it does along the axis, in the direction of the tangential force and across it; `up`
 * and `tilt` are what the direction adds to the axis, and the axis to the direction. */
INLINE void NAME(fill)(const NAME(state) * c, four axis, four radial, four around, four up,
                       four tilt, four *inverse) {
  inverse[0] = axis;
  for (int i = 1; i < 3; i++) {
    inverse[i] = up * c->d[i - 1];
    inverse[3 * i] = tilt * c->d[i - 1];
    for (int j = 1; j < 3; j++) inverse[3 * i + j] = (radial - around) * c->d[i - 1] * c->d[j - 1];
    inverse[4 * i] += around;
  }
}

INLINE void NAME(coulomb_inverse)(const NAME(state) * c, double eps, four *f, four *inverse) {
  NAME(disc) d = NAME(round_disc)(c, eps);
  four none = {0, 0, 0, 0}, lean = 0.5 * NAME(divide)(c->r - d.normal, d.root, none);
  four part = NAME(divide)(c->r, d.larger, none + 1.0);
  four radial = 1.0 / NAME(at_least)(d.factor * (1.0 - part * (0.5 + lean)));
  four by_radius = part * (1.0 - d.factor * (0.5 - lean));
  four axis = 1.0 / NAME(at_least)(NAME(slope)(c->u[0], d.normal_root));
  NAME(coulomb_f)(c, eps, f);
  NAME(fill)(c, axis, radial, 1.0 / NAME(at_least)(d.factor), none, -radial * by_radius, inverse);
}

/* ---- the cone's, by the two eigenvalues u_n -+ r --------------------------------------------- */

INLINE four NAME(cone_f)(const NAME(state) * c, double eps, four *f) {
  four root, low = NAME(ramp)(c->u[0] - c->r, eps, &root),
             high = NAME(ramp)(c->u[0] + c->r, eps, &root);
  f[0] = c->sy[0] - 0.5 * (high + low);
  for (int i = 1; i < 3; i++) f[i] = c->sy[i] - 0.5 * (high - low) * c->d[i - 1];
  return 0.5 * (high + low);
}

INLINE void NAME(cone_inverse)(const NAME(state) * c, double eps, four *f, four *inverse) {
  four low_root, high_root, t = c->u[0] - c->r, v = c->u[0] + c->r;
  four low = NAME(ramp)(t, eps, &low_root), high = NAME(ramp)(v, eps, &high_root);
  four low_slope = NAME(slope)(t, low_root), high_slope = NAME(slope)(v, high_root);
  four around = NAME(divide)(high - low, 2.0 * c->r, low_slope);
  four in_low = 1.0 / NAME(at_least)(low_slope), in_high = 1.0 / NAME(at_least)(high_slope);
  four mean = 0.5 * (in_high + in_low), half = 0.5 * (in_high - in_low);
  NAME(cone_f)(c, eps, f);
  NAME(fill)(c, mean, mean, 1.0 / NAME(at_least)(around), half, half, inverse);
}

/* ---- all of a quad --------------------------------------------------------------------------- */

INLINE void NAME(store_targets)(const cone_quad *q, const cone_view *at, const NAME(state) * c,
                                four normal) {
  four force = normal / (c->s * q->g[0]);
  for (int k = 0; k < LANES_OF_CONES; k++) at->target[q->first[k]] = force[k];
}

TARGET static double NAME(merit)(const cone_quad *quads, int count, const cone_view *at) {
  four sum = {0, 0, 0, 0}, f[3];
  for (int k = 0; k < count; k++) {
    NAME(state) c;
    NAME(enter)(&quads[k], at, &c);
    four normal = at->exact ? NAME(coulomb_f)(&c, at->eps, f) : NAME(cone_f)(&c, at->eps, f);
    NAME(store_targets)(&quads[k], at, &c, normal);
    sum += quads[k].weight * (f[0] * f[0] + f[1] * f[1] + f[2] * f[2]);
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

TARGET static void NAME(linearize)(const cone_quad *q, const cone_view *at, cone_step *step) {
  four f[3], inverse[9];
  NAME(state) c;
  NAME(enter)(q, at, &c);
  if (at->exact) NAME(coulomb_inverse)(&c, at->eps, f, inverse);
  else NAME(cone_inverse)(&c, at->eps, f, inverse);
  NAME(store_targets)(q, at, &c, c.sy[0] - f[0]);
  for (int i = 0; i < 3; i++) {
    const four *row = inverse + 3 * i;
    step->r[i] = -(row[0] * f[0] + row[1] * f[1] + row[2] * f[2]) * q->g[i];
    for (int j = 0; j < 3; j++)
      step->E[3 * i + j] = (row[j] - (i == j ? 1.0 : 0.0)) * c.s * q->g[i] * q->g[j];
  }
}

static const cone_kernels NAME(cones) = {NAME(merit), NAME(linearize)};

#undef INLINE
